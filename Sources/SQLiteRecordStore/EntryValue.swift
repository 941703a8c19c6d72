internal import Foundation
internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// How field values stand in the index entries: so that SQLite's order of the column is the order of ``ValueOrder``.
enum EntryValue {
    /// Bytes of a string or of BYTES that go into an entry; what is longer is compared in full afterwards.
    static let prefixLength = 1024

    /// Stands for 'no value': before every number, and numbers come before bytes. (Members of the key can't be NULL.)
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

    /// The entries of all values that equal a value: a place on the meridian of 180° is entered as it was written, +180° or -180°.
    /// - Returns: `nil` where they can't be listed: a pole has an entry at every longitude. Empty for what has no entry.
    static func values(equalTo value: FieldValue) -> [DatabaseValue]? {
        guard case .location(let location) = value else { return Self.value(value).map { [$0] } ?? [] }
        return location.equalLongitudes?.map { MortonCell(Location(latitude: location.latitude, longitude: $0)).number.databaseValue }
    }

    /// The entry of a value that may be missing.
    static func valueOrMissing(_ value: FieldValue?) -> DatabaseValue {
        value.flatMap { Self.value($0) } ?? missing
    }

    static func bytes(_ bytes: some Sequence<UInt8>) -> DatabaseValue {
        Data(bytes.prefix(prefixLength)).databaseValue
    }

    /// Whether an entry holds only the beginning of its value.
    static func isCut(_ value: DatabaseValue) -> Bool {
        if case .blob(let data) = value.storage { data.count >= prefixLength } else { false }
    }
}

extension DatabaseValue {
    fileprivate static let doubleInfinity = (-Double.infinity).databaseValue
}
