public import Records

/// A path below `/assets`: `/assets/{container}/{environment}/upload/{ticket}` or `/assets/{container}/{environment}/download/{ticket}/{name}`.
public struct AssetPath: Sendable, Hashable {
    public enum Purpose: Sendable, Hashable {
        case upload(ticket: String)
        /// The ticket, and the name of the downloaded file.
        case download(ticket: String, fileName: String)
    }

    public static let root = "/assets/"

    public let container: ContainerID
    public let environment: Environment
    public let purpose: Purpose

    /// - Returns: `nil` if the path is not a valid asset path.
    public init?(_ path: String) {
        guard path.hasPrefix(Self.root) else { return nil }
        let parts = path.dropFirst(Self.root.count).split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 4, let container = ContainerID(parts[0]), let environment = Environment(rawValue: parts[1]) else { return nil }
        self.container = container
        self.environment = environment
        switch (parts[2], parts.count) {
        case ("upload", 4): purpose = .upload(ticket: parts[3])
        case ("download", 5):
            guard let name = Self.decoded(parts[4]) else { return nil }
            purpose = .download(ticket: parts[3], fileName: name)
        default: return nil
        }
    }

    /// Percent-encodes a name for a URL (RFC 3986): all characters except letters, digits and `.-_~`.
    public static func encoded(_ name: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func decoded(_ text: String) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let digits = String(rest.prefix(2)), digits.utf8.count == 2, let value = UInt8(digits, radix: 16) else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
