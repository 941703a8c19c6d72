internal import Foundation
internal import JSON
internal import RecordStore
internal import Records

/// Encodes field values for index entries, so that the order of their column equals ``ValueOrder``.
enum EntryValue {
    /// Maximum number of bytes of a string, a word or BYTES in an entry. Longer values are compared in full afterwards. PostgreSQL takes no index
    /// entries above 2,704 bytes, and those of composite indexes have two values.
    static let prefixLength = 1024

    /// The value of the entry that each record has in the list of its type's records.
    static let member = SQLValue.integer(0)

    /// Marks a missing value, because key columns can't be NULL. It sorts before all numbers, and numbers sort before
    /// bytes.
    static let missing = SQLValue.real(-.infinity)

    static func value(_ value: FieldValue) -> SQLValue? {
        switch value {
        case .string(let string): bytes(string.utf8)
        case .reference(let reference): bytes(reference.recordName.utf8)
        case .bytes(let bytes): self.bytes(bytes)
        case .int64(let integer): .integer(integer)
        case .timestamp(let timestamp): .integer(timestamp.milliseconds)
        case .double(let double): .real(double)
        case .location(let location): .integer(MortonCell(location).number)
        case .asset, .list: nil
        }
    }

    /// The entries of all values equal to `value`. A location on the 180° meridian can be stored as +180° or -180°.
    /// - Returns: `nil` if they can't be listed, since a pole has an entry for every longitude. Empty for a value
    ///   that is not indexed.
    static func values(equalTo value: FieldValue) -> [SQLValue]? {
        guard case .location(let location) = value else { return Self.value(value).map { [$0] } ?? [] }
        return location.equalLongitudes?.map { .integer(MortonCell(Location(latitude: location.latitude, longitude: $0)).number) }
    }

    /// The entry of an optional value; ``missing`` for `nil`.
    static func valueOrMissing(_ value: FieldValue?) -> SQLValue {
        value.flatMap { Self.value($0) } ?? missing
    }

    static func bytes(_ bytes: some Sequence<UInt8>) -> SQLValue {
        .bytes(Array(bytes.prefix(prefixLength)))
    }

    /// True if the entry holds only a prefix of its value.
    static func isCut(_ value: SQLValue) -> Bool {
        if case .bytes(let bytes) = value { bytes.count >= prefixLength } else { false }
    }

    /// The entry of a word.
    static func word(_ word: String) -> String {
        if word.utf8.count <= prefixLength { return word }
        var end = word.utf8.index(word.startIndex, offsetBy: prefixLength)
        while end.samePosition(in: word.unicodeScalars) == nil { end = word.utf8.index(before: end) }
        return String(word[..<end])
    }
}
