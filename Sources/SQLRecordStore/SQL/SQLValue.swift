/// A value of a column without a type of its own, such as that of an index entry.
///
/// Values are ordered: first NULL, then numbers, then texts, then bytes. Texts and bytes are compared byte by byte.
enum SQLValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes([UInt8])
}
