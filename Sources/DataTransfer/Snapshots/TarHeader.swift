internal import Foundation

/// The block before a file in a tar archive, in the format of POSIX (ustar).
struct TarHeader {
    static let blockSize = 512
    /// Sizes from here on need more than eleven octal digits.
    private static let octalLimit: Int64 = 1 << 33

    enum Kind {
        case file
        case folder
        /// Attributes of the next file, which no snapshot needs.
        case attributes
    }

    let path: String
    let size: Int64
    let kind: Kind

    init(path: String, size: Int64) {
        (self.path, self.size, kind) = (path, size, .file)
    }

    /// The number of bytes that fill up the last block of a file.
    var padding: Int { Int((Int64(Self.blockSize) - size % Int64(Self.blockSize)) % Int64(Self.blockSize)) }

    // MARK: Writing

    /// - Parameter modified: seconds since 1970.
    func block(modified: Int64) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: Self.blockSize)
        func put(_ bytes: some Sequence<UInt8>, at start: Int) { for (index, byte) in bytes.enumerated() { block[start + index] = byte } }
        func octal(_ number: Int64, _ digits: Int) -> [UInt8] {
            let text = String(number, radix: 8)
            return Array((String(repeating: "0", count: max(0, digits - text.utf8.count)) + text).utf8)
        }
        // A path of two parts: the folder of the snapshot, and the file in it.
        let parts = path.split(separator: "/", maxSplits: 1)
        put((parts.count > 1 ? parts[1] : parts[0]).utf8, at: 0)
        if parts.count > 1 { put(parts[0].utf8, at: 345) }
        put(octal(0o644, 7), at: 100)
        put(octal(0, 7), at: 108)
        put(octal(0, 7), at: 116)
        if size < Self.octalLimit {
            put(octal(size, 11), at: 124)
        } else {
            // The usual extension for large files: a binary number, marked by its first bit.
            block[124] = 0x80
            for index in 0..<8 { block[128 + index] = UInt8(truncatingIfNeeded: size >> Int64(8 * (7 - index))) }
        }
        put(octal(max(0, modified), 11), at: 136)
        put("        ".utf8, at: 148)
        block[156] = UInt8(ascii: "0")
        put("ustar\u{0}00".utf8, at: 257)
        put(octal(Self.sum(block), 6) + [0, UInt8(ascii: " ")], at: 148)
        return block
    }

    private static func sum(_ block: [UInt8]) -> Int64 { block.reduce(0) { $0 + Int64($1) } }

    // MARK: Reading

    /// - Returns: `nil` for the empty block at the end.
    /// - Throws: ``SnapshotError`` if the block begins no file.
    init?(_ block: [UInt8], in archive: String) throws(SnapshotError) {
        if block.allSatisfy({ $0 == 0 }) { return nil }
        func text(_ range: Range<Int>) -> String { String(decoding: block[range].prefix { $0 != 0 }, as: UTF8.self) }
        func number(_ range: Range<Int>) -> Int64? {
            if block[range.lowerBound] == 0x80 { return block[range].suffix(8).reduce(0) { $0 << 8 | Int64($1) } }
            return Int64(text(range).trimmingCharacters(in: .whitespaces), radix: 8)
        }
        var unsigned = block
        for index in 148..<156 { unsigned[index] = UInt8(ascii: " ") }
        guard let sum = number(148..<156), sum == Self.sum(unsigned), let size = number(124..<136), size >= 0 else {
            throw SnapshotError(.damaged, "'\(archive)' is no shared snapshot: it is no tar archive, or it is damaged")
        }
        let prefix = text(257..<262) == "ustar" ? text(345..<500) : ""
        path = prefix.isEmpty ? text(0..<100) : "\(prefix)/\(text(0..<100))"
        self.size = size
        switch block[156] {
        case UInt8(ascii: "0"), 0: kind = .file
        case UInt8(ascii: "5"): kind = .folder
        case UInt8(ascii: "x"), UInt8(ascii: "g"): kind = .attributes
        default: throw SnapshotError(.damaged, "'\(archive)' is no shared snapshot: '\(path)' in it is neither a file nor a folder")
        }
    }
}
