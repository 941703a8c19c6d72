/// The names that NSPersistentCloudKitContainer uses for Core Data's objects: the type of a record is `CD_` and the
/// entity's name. Its fields are `CD_` and the names of attributes and to-one relationships.
public enum MirroredNaming {
    /// The zone of a user's own objects, in the private database.
    public static let zoneID = ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")
    /// The field with the name of an object's entity.
    public static let entityField: Name = "CD_entityName"

    private static let prefix: Name = "CD_"
    /// Prefix of the names of Core Data's zones. Shared objects have zones of their own.
    private static let zonePrefix: Name = "com.apple.coredata.cloudkit."
    /// Suffix of the field for an attribute whose value was too long for a record.
    private static let assetSuffix = "_ckAsset"
    /// A field that Core Data adds to objects that it moves to another zone.
    private static let ownProperty = "moveReceipt"

    /// True for a zone created by Core Data.
    public static func isZone(_ zoneID: ZoneID) -> Bool { zoneID.zoneName.hasPrefix(zonePrefix) }

    /// True for the type of records that represent objects.
    public static func isEntityType(_ recordType: Name) -> Bool { recordType.hasPrefix(prefix) }

    /// The entity of a record type. Sub-entities share the type of their root entity. `nil` if the records of the type
    /// are not objects.
    public static func rootEntity(of recordType: Name) -> String? {
        isEntityType(recordType) ? String(recordType.string.dropFirst(prefix.string.count)) : nil
    }

    /// The attribute or to-one relationship of a field. The field may be the one with the attribute's asset. `nil` if
    /// the field belongs to neither.
    public static func property(of field: Name) -> String? {
        guard field.hasPrefix(prefix), field != entityField else { return nil }
        let name = String(field.string.dropFirst(prefix.string.count))
        let property = isAssetField(field) ? String(name.dropLast(assetSuffix.count)) : name
        return property == ownProperty ? nil : property
    }

    /// The field of an attribute or to-one relationship.
    public static func field(of property: String) -> Name { Name("\(prefix)\(property)") }

    /// The field with the attribute's asset, for a text or bytes that are too long for a record.
    public static func assetField(of property: String) -> Name { Name("\(prefix)\(property)\(assetSuffix)") }

    /// True for a field that contains an attribute's asset.
    public static func isAssetField(_ field: Name) -> Bool { field.string.hasSuffix(assetSuffix) }

    /// The field with the value of an attribute: the attribute's own field or, if that is missing or empty, the field
    /// with its asset.
    public static func valueField<Content>(
        of property: String, in fields: [Name: Content], _ value: (Content) -> FieldValue?
    ) -> Name {
        let (field, assetField) = (field(of: property), assetField(of: property))
        if fields[assetField] == nil { return field }
        switch fields[field].map(value) {
        case .none, .some(.string("")), .some(.bytes([])): return assetField
        case .some: return field
        }
    }
}

/// A pair of objects in a many-to-many relationship, which is stored as a record of its own.
public struct MirroredLink: Sendable, Hashable {
    /// The type of all these records, whatever they link.
    public static let recordType: Name = "CDMR"
    /// The field with the record names of both objects.
    public static let namesField: Name = "CD_recordNames"
    /// The field with each object's relationship to the other one.
    public static let relationshipsField: Name = "CD_relationships"
    /// The field with the entities of both objects.
    public static let entitiesField: Name = "CD_entityNames"

    /// One of the two objects.
    public struct End: Sendable, Hashable {
        /// The record of the object.
        public let recordName: Name
        /// The object's relationship to the other one.
        public let relationship: String
        /// The name of the object's entity; `nil` if the record does not contain it.
        public let entityName: String?
    }

    /// The object that the record names first.
    public let first: End
    /// The object that the record names second.
    public let second: End

    /// Reads a link. Each field contains the values of both objects, separated by a colon.
    /// - Parameter text: returns the text of a field; `nil` if there is none.
    /// - Returns: `nil` if the record does not contain both objects and relationships.
    public init?(_ text: (Name) -> String?) {
        func parts(_ field: Name) -> [String]? {
            let parts = text(field)?.split(separator: ":", omittingEmptySubsequences: false).map { String($0) }
            return parts?.count == 2 ? parts : nil
        }
        guard let names = parts(Self.namesField), let relationships = parts(Self.relationshipsField) else { return nil }
        let entities = parts(Self.entitiesField)
        first = End(recordName: Name(names[0]), relationship: relationships[0], entityName: entities?[0])
        second = End(recordName: Name(names[1]), relationship: relationships[1], entityName: entities?[1])
    }

    /// The ends that are the given object, each with the other end. If the pair links an object to itself, there are
    /// two.
    public func ends(with recordName: Name) -> [(own: End, other: End)] {
        [(first, second), (second, first)].filter { $0.0.recordName == recordName }.map { (own: $0.0, other: $0.1) }
    }
}
