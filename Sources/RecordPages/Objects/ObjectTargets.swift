internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The objects that others lead to, each read once, without most of its fields.
///
/// Core Data keeps a to-one relationship as a record name in a text field, so that it looks like an attribute. Only the record behind it tells.
struct ObjectTargets {
    struct Target {
        let recordType: Name
        let entityName: String
        /// `nil` for an object without a text that tells it from others.
        let label: String?
    }

    /// The number of record names in a read.
    private static let batchSize = 200
    /// The maximum size of the fields of a read, in bytes. Objects beyond it are not found.
    private static let bytesLimit = 4 << 20
    /// The maximum number of objects. Others are not found.
    private static let limit = 1000

    private var found: [RecordID: Target] = [:]

    /// - Throws: `RecordError` for a read that fails as a whole.
    init(_ recordIDs: some Sequence<RecordID>, _ visit: Visit) async throws {
        var known: Set<RecordID> = []
        var left = recordIDs.filter { known.insert($0).inserted }.prefix(Self.limit)
        let titles = visit.titles
        let keys = titles.fields.union([MirroredNaming.entityField])
        while !left.isEmpty {
            let batch = Array(left.prefix(Self.batchSize))
            left = left.dropFirst(batch.count)
            let results = try await visit.measure { try await visit.database.fetch(batch, desiredKeys: keys, bytesLimit: Self.bytesLimit) }
            for (recordID, result) in zip(batch, results) {
                if case .success(let record) = result { found[recordID] = try Target(record, titles) }
            }
        }
    }

    /// - Returns: `nil` for a record that is not there, or is no object.
    subscript(recordID: RecordID) -> Target? { found[recordID] }

    /// The link to an object, with its label as the text.
    /// - Returns: `nil` for a record that is not there, or is no object.
    func link(to recordID: RecordID, _ place: Place) -> Frame.Link? {
        found[recordID].map { Frame.Link(text: $0.label ?? recordID.recordName.string, href: place.link(toObject: recordID)) }
    }

    /// The value of a to-one relationship, by the form of the text: Core Data's record names end with a UUID.
    static func mayBeRecordName(_ value: FieldValue?) -> Name? {
        guard case .string(let text)? = value, text.utf8.count <= RecordID.nameLimit, text.utf8.count >= 36 else { return nil }
        let isUUID = text.utf8.suffix(36).enumerated().allSatisfy { place, byte in
            [8, 13, 18, 23].contains(place)
                ? byte == UInt8(ascii: "-")
                : (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte & 0xDF)
        }
        let name = Name(text)
        return isUUID && (text.utf8.count == 36 || MirroredNaming.isEntityType(name)) ? name : nil
    }
}

extension ObjectTargets.Target {
    /// - Returns: `nil` for a record that is no object.
    init?(_ record: StoredRecord, _ titles: RecordTitles) throws {
        guard let rootEntity = MirroredNaming.rootEntity(of: record.recordType) else { return nil }
        recordType = record.recordType
        entityName = try record.entityName ?? rootEntity
        label = try titles.title(of: record)
    }
}

extension StoredRecord {
    /// The entity of an object; `nil` if the record does not tell.
    var entityName: String? {
        get throws {
            guard case .string(let name)? = try fields.values(of: [MirroredNaming.entityField])[MirroredNaming.entityField] else { return nil }
            return name
        }
    }
}

extension Place {
    /// The page of an object.
    func link(toObject recordID: RecordID) -> String {
        inZone(recordID.zoneID).link("object", [("name", recordID.recordName.string)])
    }
}
