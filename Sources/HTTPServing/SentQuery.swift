public import Hummingbird
internal import Text

/// The query of a request target exactly as sent: a plus sign stays a plus sign instead of a space.
///
/// Base64 has plus signs, and some clients do not percent-encode those in their tokens.
public struct SentQuery: Sendable {
    public struct Parameter: Sendable, Hashable {
        /// The value as sent.
        public let sent: String
        /// The percent-decoded value.
        public let value: String
    }

    private let parameters: [(name: String, parameter: Parameter)]

    public init(_ request: Request) {
        self.init(target: request.head.path ?? "")
    }

    /// - Parameter target: a path, with an optional query after the first question mark.
    public init(target: String) {
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else {
            parameters = []
            return
        }
        parameters = target.utf8[mark...].dropFirst().split(separator: UInt8(ascii: "&")).map { part in
            let sides = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false).map { String(Substring($0)) }
            let sent = sides.count > 1 ? sides[1] : ""
            return (Self.decoded(sides[0]), Parameter(sent: sent, value: Self.decoded(sent)))
        }
    }

    /// True if the target has no parameters.
    public var isEmpty: Bool { parameters.isEmpty }

    /// The first parameter of this name with a non-empty value.
    public subscript(name: String) -> Parameter? {
        parameters.first { $0.name == name && !$0.parameter.value.isEmpty }?.parameter
    }

    /// The percent-decoded text; unchanged if it does not decode to UTF-8.
    private static func decoded(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return text }
        return String(validating: PercentEncoding.bytes(of: text.utf8).bytes, as: UTF8.self) ?? text
    }
}
