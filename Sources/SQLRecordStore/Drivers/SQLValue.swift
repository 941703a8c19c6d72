internal import Foundation

/// A value of a column without a declared type, such as the value of an index entry.
///
/// Values are ordered: NULL, then numbers, then texts, then bytes. Texts and bytes are compared byte by byte.
enum SQLValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes([UInt8])
}

// MARK: - Packed values

/// Packs values into bytes with the same order, for databases in which each column has a type.
///
/// The first byte is the kind of the value. Integers follow as 8 bytes in big-endian order with the sign bit inverted,
/// real numbers as their bits, which are inverted if negative. Texts and bytes follow unchanged. -∞ sorts before all
/// other numbers, and integers sort before real numbers: a column contains only one of both.
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

// MARK: - Values of a row

/// A value of the current row in the database's memory. Valid until the statement advances.
struct SQLCell {
    /// The kind of a value, as bits. If a database does not distinguish texts from bytes, its values have both bits.
    ///
    /// The constants are computed, because they are read for each column of each row, and access to stored ones would
    /// check first whether they are initialized.
    struct Kind: RawRepresentable, Equatable {
        let rawValue: UInt8

        static var null: Kind { Kind(rawValue: 1) }
        static var integer: Kind { Kind(rawValue: 2) }
        static var real: Kind { Kind(rawValue: 4) }
        static var text: Kind { Kind(rawValue: 8) }
        static var bytes: Kind { Kind(rawValue: 16) }
        static var textOrBytes: Kind { Kind(rawValue: 24) }
        static var nullOrInteger: Kind { Kind(rawValue: 3) }
        static var nullOrText: Kind { Kind(rawValue: 9) }
        static var nullOrBytes: Kind { Kind(rawValue: 17) }
    }

    let kind: Kind
    /// The integer, or the bits of the real number.
    let number: Int64
    /// Text in UTF-8, or bytes.
    let octets: UnsafeRawBufferPointer

    static var null: SQLCell { SQLCell(kind: .null, number: 0, octets: UnsafeRawBufferPointer(start: nil, count: 0)) }

    @inline(__always) static func integer(_ integer: Int64) -> SQLCell {
        SQLCell(kind: .integer, number: integer, octets: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    static func real(_ real: Double) -> SQLCell {
        SQLCell(
            kind: .real, number: Int64(bitPattern: real.bitPattern),
            octets: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    @inline(__always) func holds(_ kinds: Kind) -> Bool { kind.rawValue & kinds.rawValue != 0 }

    var isNull: Bool { holds(.null) }
    var real: Double { Double(bitPattern: UInt64(bitPattern: number)) }
    /// The text. The bytes are bound to a type, because the standard library would copy untyped bytes first.
    var string: String { String(decoding: octets.assumingMemoryBound(to: UInt8.self), as: UTF8.self) }
}

/// A value that can be read from a column.
protocol ColumnValue {
    /// - Returns: `nil` if the value has another kind.
    init?(_ cell: SQLCell)
}

extension Int64: ColumnValue {
    /// Accepts an integer. A sum or count that is too large for an integer, as in a damaged file, is a whole real
    /// number; it is clamped to the range.
    init?(_ cell: SQLCell) {
        if cell.holds(.integer) {
            self = cell.number
        } else if cell.holds(.real), cell.real.rounded() == cell.real {
            self = cell.real >= 0x1p63 ? .max : cell.real < -0x1p63 ? .min : Int64(cell.real)
        } else {
            return nil
        }
    }
}

extension Int: ColumnValue {
    init?(_ cell: SQLCell) {
        guard let integer = Int64(cell) else { return nil }
        self.init(exactly: integer)
    }
}

extension UInt32: ColumnValue {
    init?(_ cell: SQLCell) {
        guard let integer = Int64(cell) else { return nil }
        self.init(exactly: integer)
    }
}

extension Bool: ColumnValue {
    init?(_ cell: SQLCell) {
        guard let integer = Int64(cell) else { return nil }
        self = integer != 0
    }
}

extension String: ColumnValue {
    init?(_ cell: SQLCell) {
        guard cell.holds(.text) else { return nil }
        self = cell.string
    }
}

extension Data: ColumnValue {
    init?(_ cell: SQLCell) {
        guard cell.holds(.bytes) else { return nil }
        self.init(cell.octets)
    }
}

extension Array<UInt8>: ColumnValue {
    init?(_ cell: SQLCell) {
        guard cell.holds(.bytes) else { return nil }
        self.init(cell.octets)
    }
}

extension Optional: ColumnValue where Wrapped: ColumnValue {
    init?(_ cell: SQLCell) {
        let value = cell.isNull ? nil : Wrapped(cell)
        if value == nil, !cell.isNull { return nil }
        self = value
    }
}

extension SQLValue: ColumnValue {
    init?(_ cell: SQLCell) {
        switch cell.kind {
        case .null: self = .null
        case .integer: self = .integer(cell.number)
        case .real: self = .real(cell.real)
        case .text: self = .text(cell.string)
        case .bytes: self = .bytes(Array(cell.octets))
        default:
            guard let value = PackedValue.value(of: cell.octets) else { return nil }
            self = value
        }
    }
}
