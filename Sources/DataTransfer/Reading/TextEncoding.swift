internal import Foundation

/// How the bytes of a file are text.
enum TextEncoding: String, Sendable, Hashable {
    case utf8 = "UTF-8"
    case utf16LittleEndian = "UTF-16, little-endian"
    case utf16BigEndian = "UTF-16, big-endian"
    /// The characters of Latin-1, and typographic ones in the place of its control characters.
    case windows1252 = "Windows-1252 (Latin-1)"

    /// The encoding that the first bytes tell: by a byte order mark, or by the zeros between the ASCII letters of UTF-16.
    /// - Returns: `nil` if they do not tell it.
    init?(startingWith start: [UInt8]) {
        switch start.prefix(4) {
        case let mark where mark.starts(with: [0xEF, 0xBB, 0xBF]): self = .utf8
        case let mark where mark.starts(with: [0xFF, 0xFE]): self = .utf16LittleEndian
        case let mark where mark.starts(with: [0xFE, 0xFF]): self = .utf16BigEndian
        case let bytes where bytes.count == 4 && bytes[0] != 0 && bytes[1] == 0 && bytes[2] != 0 && bytes[3] == 0: self = .utf16LittleEndian
        case let bytes where bytes.count == 4 && bytes[0] == 0 && bytes[1] != 0 && bytes[2] == 0 && bytes[3] != 0: self = .utf16BigEndian
        default: return nil
        }
    }

    /// The encoding of a file without a mark: Windows-1252 if no byte above ASCII is part of a valid UTF-8 character, else UTF-8. One
    /// damaged character among valid ones does not turn the others into something else.
    init(ofUnmarked handle: FileHandle) throws {
        var (isValid, isInvalid) = (false, false)
        var rest: [UInt8] = []
        while !isValid, let data = try handle.read(upToCount: 1 << 18), !data.isEmpty {
            let bytes = rest + data
            rest = []
            if bytes.allSatisfy({ $0 < 0x80 }) { continue }
            var index = 0
            while index < bytes.count {
                guard bytes[index] >= 0x80 else {
                    index += 1
                    continue
                }
                let length = bytes[index] >= 0xF0 ? 4 : bytes[index] >= 0xE0 ? 3 : 2
                if index + length > bytes.count, data.count == 1 << 18 {
                    rest = Array(bytes[index...])
                    break
                }
                if String(validating: bytes[index..<min(bytes.count, index + length)], as: UTF8.self) != nil {
                    isValid = true
                    break
                }
                isInvalid = true
                index += 1
            }
        }
        self = isInvalid && !isValid ? .windows1252 : .utf8
    }

    /// The bytes as UTF-8; bytes that are not valid in UTF-8 stay as they are.
    /// - Parameter rest: bytes of a character that goes on after the chunk. They belong before the next one.
    /// - Returns: `nil` if the bytes are not valid UTF-16.
    func utf8(of bytes: [UInt8], rest: inout [UInt8], isLast: Bool) -> [UInt8]? {
        switch self {
        case .utf8: return bytes
        case .windows1252:
            var text = String.UnicodeScalarView()
            for byte in bytes { text.append(Self.windows1252Scalar(byte)) }
            return Array(String(text).utf8)
        case .utf16LittleEndian, .utf16BigEndian:
            let all = rest + bytes
            var units: [UInt16] = []
            units.reserveCapacity(all.count / 2)
            for index in stride(from: 0, to: all.count - 1, by: 2) {
                let (first, second) = (UInt16(all[index]), UInt16(all[index + 1]))
                units.append(self == .utf16LittleEndian ? second << 8 | first : first << 8 | second)
            }
            rest = all.count % 2 == 1 ? [all[all.count - 1]] : []
            if let last = units.last, UTF16.isLeadSurrogate(last) {
                units.removeLast()
                rest = Array(all[(units.count * 2)...])
            }
            if isLast, !rest.isEmpty { return nil }
            return String(validating: units, as: UTF16.self).map { Array($0.utf8) }
        }
    }

    private static func windows1252Scalar(_ byte: UInt8) -> Unicode.Scalar {
        guard (0x80...0x9F).contains(byte) else { return Unicode.Scalar(byte) }
        return typographic[Int(byte - 0x80)]
    }

    /// The characters of 0x80 to 0x9F. The five bytes that have none stay control characters, as on the web.
    private static let typographic = Array("€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8D}Ž\u{8F}\u{90}‘’“”•–—˜™š›œ\u{9D}žŸ".unicodeScalars)
}
