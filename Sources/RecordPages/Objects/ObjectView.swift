internal import AssetStore
internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The page of one object of Core Data: its attributes, and its relationships both ways.
struct ObjectView: Page {
    static let template = "object"
    static let tab = Tab.objects
    /// The parameter that asks iCloud for what other records tell.
    private static let followField = "follow"

    struct Attribute: ViewModel {
        let name: String
        let type: String
        let value: ValueView
    }

    let title: String
    let label: String
    let entity: String
    let entityHref: String
    let entities: String
    let recordName: String
    /// The record of the object.
    let record: String
    let zone: String
    let attributes: [Attribute]
    let files: [AssetFileView]
    let relationships: [ObjectRelationships.Row]
    let refusals: [QueryRefusal]
    /// The link that asks iCloud for the relationships that only other records tell; `nil` if they are there.
    let follow: String?
    /// The records that were read for relationships of other entities.
    let sample: String
    /// True if a relationship waits for an index that is being built.
    let isBuilding: Bool
    let milliseconds: String

    /// - Returns: the page of the record for one that is not there, or is no object.
    static func answer(_ asked: Visit) async throws -> Answer {
        guard let name = asked.fields.text("name").map({ Name($0) }) else {
            throw RecordError(.badRequest, "The address of an object needs its record name: object?zone=…&name=…")
        }
        guard let zoneID = asked.place.zoneID ?? asked.usualZoneID else { throw RecordError.zoneNotFound }
        let there = asked.inZone(zoneID)
        do {
            let record = try await RecordView.record(name, in: zoneID, visit: there)
            if MirroredNaming.isEntityType(record.recordType) { return .page(try await load(record, try await there.findingEntityTypes())) }
        } catch let error as RecordError where error.code == .notFound || error.code == .zoneNotFound {}
        return .redirect(there.place.link(toRecord: name, in: zoneID))
    }

    private static func load(_ record: StoredRecord, _ visit: Visit) async throws -> ObjectView {
        let recordID = record.recordID
        let fields = try record.fields.decoded()
        let values = Dictionary(fields.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        let properties = Set(values.keys.compactMap { MirroredNaming.property(of: $0) }).sorted()
        func destination(_ property: String) -> RecordID? {
            ObjectTargets.mayBeRecordName(values[MirroredNaming.field(of: property)]).map { RecordID(recordName: $0, zoneID: recordID.zoneID) }
        }
        let targets = try await ObjectTargets(properties.compactMap(destination), visit)
        let toOne = properties.compactMap { name in destination(name).flatMap { targets.link(to: $0, visit.place) }.map { (name: name, link: $0) } }
        let links = try await visit.links(toAssetsOf: [record])
        let presenter = ValuePresenter(place: visit.place, zoneID: recordID.zoneID, links: links, isFull: true)
        let type = visit.schema?.types[record.recordType]
        let attributes = properties.filter { name in !toOne.contains { $0.name == name } }.map { property in
            let field = MirroredNaming.valueField(of: property, in: values) { $0 }
            return Attribute(
                name: property, type: MirroredNaming.isAssetField(field) ? kept(property, in: type) : values[field]?.typeLabel ?? "",
                value: presenter.view(values[field], of: field))
        }
        let follows = visit.connection == nil || visit.fields[followField] != nil
        let relationships = try await ObjectRelationships(of: record, toOne: toOne, followsOthers: follows, visit)
        let entity = try record.entityName ?? MirroredNaming.rootEntity(of: record.recordType) ?? ""
        let label = try visit.titles.title(of: record) ?? recordID.recordName.string
        return ObjectView(
            title: "\(entity) · \(label)", label: label, entity: entity,
            entityHref: visit.place.link("objects/entity", QueryForm(objectsOf: entity, in: type ?? RecordType(name: record.recordType), visit.titles).parameters),
            entities: visit.place.link("objects"), recordName: recordID.recordName.string,
            record: visit.place.link(toRecord: recordID.recordName, in: recordID.zoneID), zone: visit.zoneName(recordID.zoneID), attributes: attributes,
            files: try await AssetFileView.all(try record.fields.assets(), of: record, links: links, visit: visit), relationships: relationships.rows,
            refusals: relationships.refusals,
            follow: follows ? nil : visit.place.link("object", [("name", recordID.recordName.string), (followField, "1")]),
            sample: ObjectModel.sample(visit), isBuilding: relationships.refusals.contains(where: \.isBuilding),
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    /// The type of an attribute whose value is in an asset. The record does not tell it, but the field beside may.
    private static func kept(_ property: String, in type: RecordType?) -> String {
        switch type?.fields[MirroredNaming.field(of: property)]?.type.valueType {
        case .string?: "STRING, in a file"
        case .bytes?: "BYTES, in a file"
        default: "text or bytes, in a file"
        }
    }
}
