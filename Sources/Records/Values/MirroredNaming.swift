/// The names that NSPersistentCloudKitContainer gives to Core Data's objects: the type of a record is `CD_` and the
/// entity, its fields are `CD_` and the names of attributes and to-one relationships.
public enum MirroredNaming {
    /// The zone of a user's own objects, in the private database.
    public static let zoneID = ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")
    /// The field with the name of an object's entity.
    public static let entityField: Name = "CD_entityName"

    private static let prefix: Name = "CD_"
    /// Begins the names of the zones, of which shared objects have their own.
    private static let zonePrefix: Name = "com.apple.coredata.cloudkit."
    /// Follows the name of an attribute whose value was too long for a record.
    private static let assetSuffix = "_ckAsset"
    /// A field that Core Data keeps for itself in objects that it moves to another zone.
    private static let ownProperty = "moveReceipt"

    /// True for a zone that only Core Data makes.
    public static func isZone(_ zoneID: ZoneID) -> Bool { zoneID.zoneName.hasPrefix(zonePrefix) }

    /// True for the type of records that are objects.
    public static func isEntityType(_ recordType: Name) -> Bool { recordType.hasPrefix(prefix) }

    /// The entity of a record type, of which the others in it are sub-entities; `nil` for a type that is none of
    /// objects.
    public static func rootEntity(of recordType: Name) -> String? {
        isEntityType(recordType) ? String(recordType.string.dropFirst(prefix.string.count)) : nil
    }

    /// The attribute or to-one relationship of a field, which may be the one with its asset; `nil` for a field that
    /// belongs to neither.
    public static func property(of field: Name) -> String? {
        guard field.hasPrefix(prefix), field != entityField else { return nil }
        let name = String(field.string.dropFirst(prefix.string.count))
        let property = isAssetField(field) ? String(name.dropLast(assetSuffix.count)) : name
        return property == ownProperty ? nil : property
    }

    /// The field of an attribute or to-one relationship.
    public static func field(of property: String) -> Name { Name("\(prefix)\(property)") }

    /// The field beside it, for a text or bytes that are too long for a record.
    public static func assetField(of property: String) -> Name { Name("\(prefix)\(property)\(assetSuffix)") }

    /// True for the field beside an attribute's own, which has its asset.
    public static func isAssetField(_ field: Name) -> Bool { field.string.hasSuffix(assetSuffix) }

    /// The field with the value of an attribute: if its own field is missing or empty, the one beside it may have an
    /// asset.
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

/// A pair of a many-to-many relationship, which is a record of its own.
public struct MirroredLink: Sendable, Hashable {
    /// The type of all such records, whatever they link.
    public static let recordType: Name = "CDMR"
    /// The field with the record names of both objects.
    public static let namesField: Name = "CD_recordNames"
    /// The field with the relationship of each object to the other.
    public static let relationshipsField: Name = "CD_relationships"
    /// The field with the entities of both objects.
    public static let entitiesField: Name = "CD_entityNames"

    /// An object of the pair.
    public struct End: Sendable, Hashable {
        /// The record of the object.
        public let recordName: Name
        /// The object's relationship to the other one.
        public let relationship: String
        /// `nil` if the record does not tell.
        public let entityName: String?
    }

    /// The ends of the pair, in the order of the record.
    public let first: End
    public let second: End

    /// Each field has the values of both ends, with a colon between them.
    /// - Parameter text: the text of a field; `nil` for none.
    /// - Returns: `nil` for a record that does not tell both objects and relationships.
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

    /// The ends with the given object, each with the other end. There are two if the pair links an object to itself.
    public func ends(with recordName: Name) -> [(own: End, other: End)] {
        [(first, second), (second, first)].filter { $0.0.recordName == recordName }.map { (own: $0.0, other: $0.1) }
    }
}
