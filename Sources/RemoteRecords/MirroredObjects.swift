public import Records

/// An object of Core Data, as NSPersistentCloudKitContainer saves it in a record (`MirroredNaming` of Records).
public struct MirroredObject: Sendable, Hashable {
    /// The zone in the private database that contains all objects.
    public static let zoneID = MirroredNaming.zoneID

    /// The record that stores the object.
    public let record: Record
    /// The name of the object's entity. With entity inheritance, it can be a sub-entity of the entity that the record
    /// type names.
    public let entityName: String

    /// The ID of the record.
    public var recordID: RecordID { record.recordID }

    /// - Returns: `nil` if the record is not an object of Core Data, but for example a link of a many-to-many
    ///   relationship.
    public init?(_ record: Record) {
        guard let rootEntity = MirroredNaming.rootEntity(of: record.recordType) else { return nil }
        self.record = record
        entityName = record[MirroredNaming.entityField] ?? rootEntity
    }

    /// The attributes and to-one relationships that have values, sorted. Records do not distinguish between the two.
    public var names: [String] { Set(record.fields.keys.compactMap { MirroredNaming.property(of: $0) }).sorted() }

    /// The value of an attribute; `nil` for none. Long texts and long data are an ``AssetFile``.
    public subscript(attribute: String) -> (any RecordValue)? { record[key(of: attribute)] }

    /// The value of an attribute as a Swift type; `nil` if it has no value, or a value of another type.
    public subscript<Value: RecordValue>(attribute: String) -> Value? { record[key(of: attribute)] }

    private func key(of attribute: String) -> Name {
        MirroredNaming.valueField(of: attribute, in: record.fields, \.value)
    }

    /// The ID of the record that a to-one relationship refers to; `nil` for none.
    public func destination(of relationship: String) -> RecordID? {
        guard let name: String = self[relationship] else { return nil }
        return RecordID(recordName: name, zoneID: recordID.zoneID)
    }
}

/// The objects and relationships in a zone of NSPersistentCloudKitContainer. Records can be added in any order.
public struct MirroredObjects: Sendable {
    /// One end of a link between two objects.
    private struct End: Hashable {
        let recordID: RecordID
        let relationship: String
    }

    private var objects: [RecordID: MirroredObject] = [:]
    /// The records of many-to-many links, each with the two ends of the link.
    private var links: [RecordID: (End, End)] = [:]
    /// For each end, the linked objects, each with the number of links to it: two devices may have linked the same
    /// objects.
    private var linked: [End: [RecordID: Int]] = [:]

    /// Creates an empty collection.
    public init() {}

    /// Adds a record, or replaces its earlier version. Records that are neither objects nor links are ignored.
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

    /// The entities that have objects, sorted.
    public var entityNames: [String] { Set(objects.values.map(\.entityName)).sorted() }

    /// The object with a record ID; `nil` if there is none.
    public func object(_ recordID: RecordID) -> MirroredObject? { objects[recordID] }

    /// The objects of an entity, sorted by record name.
    public func objects(of entityName: String) -> [MirroredObject] {
        Self.sorted(objects.values.filter { $0.entityName == entityName })
    }

    /// The object that a to-one relationship refers to; `nil` if the relationship is empty or the object is missing.
    public func object(_ object: MirroredObject, _ relationship: String) -> MirroredObject? {
        object.destination(of: relationship).flatMap { objects[$0] }
    }

    /// The objects that a many-to-many relationship refers to.
    public func objects(_ object: MirroredObject, _ relationship: String) -> [MirroredObject] {
        Self.sorted(
            (linked[End(recordID: object.recordID, relationship: relationship)] ?? [:]).keys.compactMap { objects[$0] })
    }

    /// The objects of a one-to-many relationship: those whose to-one relationship refers back to the object.
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
    /// Returns whether a zone has records. An app that is new on a device can call it for ``MirroredObject/zoneID``
    /// before it asks its user for data. It needs no sync: it reads pages without fields until it finds a record. It
    /// returns false if the zone does not exist.
    /// - Throws: ``OperationError``.
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
