internal import Accounts
internal import Text

/// The return path of a web auth token from the sign-in page to the app.
enum SignInWay: Sendable, Hashable {
    /// Redirects the browser to the callback address of the API token.
    case callback(String)
    /// Sends a message to the window that opened this one. Only pages of the given origin can receive it.
    case opener(origin: String)
    /// Shows the token, for the user to copy.
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

    /// The additional form target for the content security policy; `nil` if the page needs none.
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

    /// The callback with the token, under both parameter names that clients use. Callbacks have no fragment.
    static func address(_ callback: String, with token: String) -> String {
        let separator = !callback.utf8.contains(UInt8(ascii: "?")) ? "?" : callback.hasSuffix("?") || callback.hasSuffix("&") ? "" : "&"
        let value = PercentEncoding.encoded(token)
        return "\(callback)\(separator)ckWebAuthToken=\(value)&ckSession=\(value)"
    }
}
