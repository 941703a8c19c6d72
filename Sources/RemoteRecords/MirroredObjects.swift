public import Records

/// An object of Core Data, as NSPersistentCloudKitContainer saves it in a record (`MirroredNaming` of Records).
public struct MirroredObject: Sendable, Hashable {
    /// The zone of all objects, in the private database.
    public static let zoneID = MirroredNaming.zoneID

    /// The record of the object.
    public let record: Record
    /// The name of the entity. With entity inheritance it may be a sub-entity of the record type's.
    public let entityName: String

    /// The ID of the record.
    public var recordID: RecordID { record.recordID }

    /// - Returns: `nil` for a record that is no object of Core Data, such as a link of a many-to-many relationship.
    public init?(_ record: Record) {
        guard let rootEntity = MirroredNaming.rootEntity(of: record.recordType) else { return nil }
        self.record = record
        entityName = record[MirroredNaming.entityField] ?? rootEntity
    }

    /// The attributes and to-one relationships that have values, in their order. The records do not tell which is
    /// which.
    public var names: [String] { Set(record.fields.keys.compactMap { MirroredNaming.property(of: $0) }).sorted() }

    /// The value of an attribute; an ``AssetFile`` for a long text or long bytes, `nil` for none.
    public subscript(attribute: String) -> (any RecordValue)? { record[key(of: attribute)] }

    /// The value of an attribute as a Swift type; `nil` for none, and for a value of another type.
    public subscript<Value: RecordValue>(attribute: String) -> Value? { record[key(of: attribute)] }

    private func key(of attribute: String) -> Name {
        MirroredNaming.valueField(of: attribute, in: record.fields, \.value)
    }

    /// The record that a to-one relationship leads to; `nil` for none.
    public func destination(of relationship: String) -> RecordID? {
        guard let name: String = self[relationship] else { return nil }
        return RecordID(recordName: name, zoneID: recordID.zoneID)
    }
}

/// The objects of a zone that NSPersistentCloudKitContainer fills, with their relationships. It takes records in any
/// order.
public struct MirroredObjects: Sendable {
    /// One end of a link between two objects.
    private struct End: Hashable {
        let recordID: RecordID
        let relationship: String
    }

    private var objects: [RecordID: MirroredObject] = [:]
    /// The records of links between two objects, each with its ends.
    private var links: [RecordID: (End, End)] = [:]
    /// The other ends, each with the number of links that lead there: two devices may have linked the same objects.
    private var linked: [End: [RecordID: Int]] = [:]

    /// No objects.
    public init() {}

    /// Adds a record, or replaces an earlier version of it. Records that are neither objects nor links are ignored.
    public mutating func add(_ record: Record) {
        if record.recordType == MirroredLink.recordType { return addLink(record) }
        if let object = MirroredObject(record) { objects[record.recordID] = object }
    }

    /// Removes an object or a link.
    public mutating func remove(_ recordID: RecordID) {
        objects[recordID] = nil
        guard let (first, second) = links.removeValue(forKey: recordID) else { return }
        count(first, second.recordID, -1)
        count(second, first.recordID, -1)
    }

    private mutating func count(_ end: End, _ other: RecordID, _ change: Int) {
        let number = linked[end, default: [:]][other, default: 0] + change
        linked[end, default: [:]][other] = number > 0 ? number : nil
    }

    private mutating func addLink(_ record: Record) {
        remove(record.recordID)
        guard let link = MirroredLink({ record[$0] }) else { return }
        let ends = [link.first, link.second].map { end in
            End(
                recordID: RecordID(recordName: end.recordName, zoneID: record.recordID.zoneID),
                relationship: end.relationship)
        }
        links[record.recordID] = (ends[0], ends[1])
        count(ends[0], ends[1].recordID, 1)
        count(ends[1], ends[0].recordID, 1)
    }

    // MARK: Reading

    /// The entities of the objects that are there, in order.
    public var entityNames: [String] { Set(objects.values.map(\.entityName)).sorted() }

    /// The object of a record; `nil` for none.
    public func object(_ recordID: RecordID) -> MirroredObject? { objects[recordID] }

    /// The objects of an entity, in the order of their record names.
    public func objects(of entityName: String) -> [MirroredObject] {
        Self.sorted(objects.values.filter { $0.entityName == entityName })
    }

    /// The object that a to-one relationship leads to; `nil` for none, and for one that is not there.
    public func object(_ object: MirroredObject, _ relationship: String) -> MirroredObject? {
        object.destination(of: relationship).flatMap { objects[$0] }
    }

    /// The objects that a many-to-many relationship leads to.
    public func objects(_ object: MirroredObject, _ relationship: String) -> [MirroredObject] {
        Self.sorted(
            (linked[End(recordID: object.recordID, relationship: relationship)] ?? [:]).keys.compactMap { objects[$0] })
    }

    /// The objects of a one-to-many relationship: those whose to-one relationship leads back.
    public func objects(of entityName: String, whose relationship: String, is object: MirroredObject)
        -> [MirroredObject]
    {
        Self.sorted(
            objects.values.filter { $0.entityName == entityName && $0.destination(of: relationship) == object.recordID }
        )
    }

    private static func sorted(_ objects: [MirroredObject]) -> [MirroredObject] {
        objects.sorted { $0.recordID.recordName < $1.recordID.recordName }
    }
}

extension Database {
    /// Tells if a zone has records, such as ``MirroredObject/zoneID`` before an app that is new on a device asks its
    /// user for data. It needs no sync, and reads pages without fields until there is a record.
    /// - Throws: ``OperationError``. A zone that does not exist has no records.
    public func hasRecords(in zoneID: ZoneID) async throws(OperationError) -> Bool {
        var token: SyncToken?
        var trail = container.client.trail(of: "changes/zone", after: nil)
        while true {
            let page: RecordZoneChanges
            do throws(OperationError) {
                page = try await recordZoneChanges(inZoneWith: zoneID, since: token, desiredKeys: [])
            } catch {
                if error.code == .zoneNotFound { return false }
                throw error
            }
            if !page.modifications.isEmpty { return true }
            guard page.moreComing else { return false }
            try await trail.followed(page.changeToken.text, isEmpty: page.deletions.isEmpty)
            token = page.changeToken
        }
    }
}
