internal import Text

/// A hex dump: 16 bytes per line, with the offset and the ASCII characters.
public struct HexDump: Sendable, Hashable {
    public struct Line: Sendable, Hashable {
        /// Eight hexadecimal digits.
        public let offset: String
        /// Pairs of hexadecimal digits, in two groups of eight.
        public let digits: String
        /// The ASCII characters, with a dot for each byte that is not printable.
        public let characters: String
    }

    public let lines: [Line]
    /// The number of bytes after the last line.
    public let leftOut: Int

    /// - Parameter limit: the maximum number of bytes to show.
    public init(_ bytes: [UInt8], limit: Int = 1_024) {
        let shown = bytes.prefix(limit)
        leftOut = bytes.count - shown.count
        lines = stride(from: 0, to: shown.count, by: 16).map { start in
            let part = shown[start..<min(start + 16, shown.count)]
            let halves = [part.prefix(8), part.dropFirst(8)].filter { !$0.isEmpty }.map { Hexadecimal.text(of: $0, inGroupsOf: 1) }
            return Line(
                offset: String(start, digits: 8, radix: 16), digits: halves.joined(separator: "  "),
                characters: String(decoding: part.map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: ".") }, as: UTF8.self))
        }
    }
}
