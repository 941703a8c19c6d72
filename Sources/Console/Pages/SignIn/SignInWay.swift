internal import Accounts

/// How a web auth token gets from the sign-in page back to the app.
enum SignInWay: Sendable, Hashable {
    /// The browser is sent to the address that the API token was registered with.
    case callback(String)
    /// The window that opened this one is told; only pages of the origin can hear it.
    case opener(origin: String)
    /// It is shown, to be copied.
    case copy

    init(_ request: SignInRequest, _ token: APIToken?) {
        if let callback = token?.callback {
            self = .callback(callback)
        } else if let origin = request.origin, origin.hasPrefix("http://") || origin.hasPrefix("https://") {
            self = .opener(origin: origin)
        } else {
            self = .copy
        }
    }

    /// What forms of the page may lead to besides this server, as a source of a content security policy; `nil` where they need not.
    var formTarget: String? {
        guard case .callback(let address) = self, let colon = address.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = String(decoding: address.utf8[..<colon], as: UTF8.self).lowercased()
        guard scheme == "http" || scheme == "https" else { return "\(scheme):" }
        let rest = address.utf8.dropFirst(scheme.utf8.count + 3)
        let host = rest.prefix { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"):
                true
            default: false
            }
        }
        return host.isEmpty ? nil : "\(scheme)://\(String(decoding: host, as: UTF8.self).lowercased())"
    }

    /// The callback with the token, under both names that clients know it by. Callbacks have no fragment.
    static func address(_ callback: String, with token: String) -> String {
        let separator = !callback.utf8.contains(UInt8(ascii: "?")) ? "?" : callback.hasSuffix("?") || callback.hasSuffix("&") ? "" : "&"
        let value = FormFields.encoded(token)
        return "\(callback)\(separator)ckWebAuthToken=\(value)&ckSession=\(value)"
    }
}
