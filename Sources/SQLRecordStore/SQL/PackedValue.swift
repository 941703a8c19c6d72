/// Packs a value into bytes that are ordered as the values are, for a database whose columns all have a type.
///
/// The first byte tells the kind. Integers follow as 8 bytes, the highest first, with the sign reversed; real numbers as
/// their bits, reversed where negative. Texts and bytes follow as they are. -∞ sorts before all other numbers, and integers
/// before real numbers: a column has one or the other.
enum PackedValue {
    private enum Tag: UInt8 {
        case least = 0x10
        case integer = 0x20
        case real = 0x30
        case text = 0x40
        case bytes = 0x50
    }

    /// - Returns: `nil` for NULL.
    static func bytes(of value: SQLValue) -> [UInt8]? {
        switch value {
        case .null: nil
        case .integer(let integer): [Tag.integer.rawValue] + number(UInt64(bitPattern: integer) ^ 1 << 63)
        case .real(-.infinity): [Tag.least.rawValue]
        case .real(let real): [Tag.real.rawValue] + number(ordered(real == 0 ? 0 : real.bitPattern))
        case .text(let text): [Tag.text.rawValue] + text.utf8
        case .bytes(let bytes): [Tag.bytes.rawValue] + bytes
        }
    }

    /// - Returns: `nil` if the bytes are not a packed value.
    static func value(of octets: UnsafeRawBufferPointer) -> SQLValue? {
        guard let first = octets.first, let tag = Tag(rawValue: first) else { return nil }
        let rest = UnsafeRawBufferPointer(rebasing: octets.dropFirst())
        switch tag {
        case .least: return rest.isEmpty ? .real(-.infinity) : nil
        case .integer: return number(rest).map { .integer(Int64(bitPattern: $0 ^ 1 << 63)) }
        case .real: return number(rest).map { .real(Double(bitPattern: $0 >> 63 == 1 ? $0 ^ 1 << 63 : ~$0)) }
        case .text: return .text(String(decoding: rest, as: UTF8.self))
        case .bytes: return .bytes(Array(rest))
        }
    }

    private static func ordered(_ bits: UInt64) -> UInt64 { bits >> 63 == 1 ? ~bits : bits ^ 1 << 63 }

    private static func number(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian, Array.init) }

    private static func number(_ bytes: UnsafeRawBufferPointer) -> UInt64? {
        bytes.count == 8 ? UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) : nil
    }
}
