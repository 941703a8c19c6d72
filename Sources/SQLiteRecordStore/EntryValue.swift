internal import Foundation
internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// Encodes field values for index entries, so that SQLite's column order equals ``ValueOrder``.
enum EntryValue {
    /// Maximum number of bytes of a string or BYTES value in an entry. Longer values are compared in full afterwards.
    static let prefixLength = 1024

    /// Marks a missing value, because key columns can't be NULL. It sorts before all numbers, and numbers sort before
    /// bytes.
    static let missing = DatabaseValue.doubleInfinity

    static func value(_ value: FieldValue) -> DatabaseValue? {
        switch value {
        case .string(let string): bytes(string.utf8)
        case .reference(let reference): bytes(reference.recordName.utf8)
        case .bytes(let bytes): self.bytes(bytes)
        case .int64(let integer): integer.databaseValue
        case .timestamp(let timestamp): timestamp.milliseconds.databaseValue
        case .double(let double): double.databaseValue
        case .location(let location): MortonCell(location).number.databaseValue
        case .asset, .list: nil
        }
    }

    /// The entries of all values equal to `value`. A location on the 180° meridian can be stored as +180° or -180°.
    /// - Returns: `nil` if they can't be listed, since a pole has an entry for every longitude. Empty for a value
    ///   that is not indexed.
    static func values(equalTo value: FieldValue) -> [DatabaseValue]? {
        guard case .location(let location) = value else { return Self.value(value).map { [$0] } ?? [] }
        return location.equalLongitudes?.map { MortonCell(Location(latitude: location.latitude, longitude: $0)).number.databaseValue }
    }

    /// The entry of an optional value; ``missing`` for `nil`.
    static func valueOrMissing(_ value: FieldValue?) -> DatabaseValue {
        value.flatMap { Self.value($0) } ?? missing
    }

    static func bytes(_ bytes: some Sequence<UInt8>) -> DatabaseValue {
        Data(bytes.prefix(prefixLength)).databaseValue
    }

    /// True if the entry holds only a prefix of its value.
    static func isCut(_ value: DatabaseValue) -> Bool {
        if case .blob(let data) = value.storage { data.count >= prefixLength } else { false }
    }
}

extension DatabaseValue {
    fileprivate static let doubleInfinity = (-Double.infinity).databaseValue
}
