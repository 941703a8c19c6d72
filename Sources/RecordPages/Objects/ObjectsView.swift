internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The page Objects: the entities of Core Data that a database has.
struct ObjectsView: Page {
    static let template = "objects"
    static let tab = Tab.objects

    struct Row: ViewModel {
        let name: String
        /// The table of its objects.
        let href: String
        let type: String
        let typeHref: String
        /// `nil` if it is unknown.
        let count: String?
        let attributes: String
        let toOne: [ToOne]
        let problem: String?
    }

    struct ToOne: ViewModel {
        let name: String
        let destinations: [String]
    }

    /// A many-to-many relationship, with the entity and the name at each end.
    struct Pair: ViewModel {
        let first: String
        let firstName: String
        let second: String
        let secondName: String
    }

    let title = Self.tab.title
    let zone: String
    let rows: [Row]
    let pairs: [Pair]
    /// The number of records that hold pairs, and the records; `nil` if there are none.
    let links: Frame.Link?
    /// The records that were read.
    let sample: String
    let isEmpty: Bool
    /// True for a container in iCloud, whose types are those of the records that came.
    let isConnected: Bool
    let count: String
    let milliseconds: String

    static func load(_ asked: Visit) async throws -> ObjectsView {
        let visit = try await asked.findingEntityTypes()
        let entities = try await ObjectModel.entities(visit, isWhole: true)
        let manyToMany = try await ObjectModel.manyToMany(visit)
        let pairs = manyToMany.isEmpty ? nil : await visit.recordCounts()?[MirroredLink.recordType]
        let place = visit.place
        return ObjectsView(
            zone: place.zoneID.map { "zone \(visit.zoneName($0))" } ?? (place.address.scope == .public ? "the public database" : "all zones"),
            rows: entities.map { Row($0, visit) },
            pairs: manyToMany.map { link in
                Pair(
                    first: link.first.entityName ?? "?", firstName: link.first.relationship, second: link.second.entityName ?? "?",
                    secondName: link.second.relationship)
            },
            links: manyToMany.isEmpty
                ? nil
                : Frame.Link(
                    text: pairs.map { Digits.count($0, "pair") } ?? "the pairs", href: place.link("query", [("type", MirroredLink.recordType.string)])),
            sample: ObjectModel.sample(visit), isEmpty: entities.isEmpty, isConnected: visit.connection != nil,
            count: Digits.count(entities.count, "entity", plural: "entities"),
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}

extension ObjectsView.Row {
    fileprivate init(_ entity: ObjectEntity, _ visit: Visit) {
        let place = visit.place
        name = entity.name
        href = place.link("objects/entity", QueryForm(objectsOf: entity.name, in: entity.type, visit.titles).parameters)
        type = entity.type.name.string
        typeHref = place.link("type", [("type", entity.type.name.string)])
        count = entity.count.map { Digits.grouped($0) }
        attributes = entity.attributes.joined(separator: ", ")
        toOne = entity.toOne.map { ObjectsView.ToOne(name: $0.name, destinations: $0.destinations) }
        problem = entity.problem
    }
}
