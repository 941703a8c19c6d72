internal import AssetStore
package import Console
internal import RecordStore
internal import Records

/// The page of one object of Core Data: its attributes, and its relationships both ways.
package struct ObjectView: Page {
    package static let template = "object"
    package static let tab = Tab.objects
    /// The parameter that asks iCloud for what other records tell.
    private static let followField = "follow"

    struct Attribute: ViewModel {
        let name: String
        let type: String
        let value: ValueView
    }

    package let title: String
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

    /// - Returns: the page of the record for one that is not there, or is no object.
    package static func answer(_ asked: Visit) async throws -> Answer {
        guard let name = asked.fields.text("name").map({ Name($0) }) else {
            throw RecordError(.badRequest, "The address of an object needs its record name: object?zone=…&name=…")
        }
        guard let zoneID = asked.place.zoneID ?? asked.usualZoneID else { throw RecordError.zoneNotFound }
        let there = asked.inZone(zoneID)
        do {
            let record = try await RecordView.record(name, in: zoneID, visit: there)
            if MirroredNaming.isEntityType(record.recordType) {
                return .page(try await load(record, try await there.findingEntityTypes()))
            }
        } catch let error as RecordError where error.code == .notFound || error.code == .zoneNotFound {}
        return .redirect(there.place.link(toRecord: name, in: zoneID))
    }

    private static func load(_ record: StoredRecord, _ visit: Visit) async throws -> ObjectView {
        let recordID = record.recordID
        let fields = try record.fields.decoded()
        let values = Dictionary(fields.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        let properties = Set(values.keys.compactMap { MirroredNaming.property(of: $0) }).sorted()
        func destination(_ property: String) -> RecordID? {
            ObjectTargets.mayBeRecordName(values[MirroredNaming.field(of: property)]).map {
                RecordID(recordName: $0, zoneID: recordID.zoneID)
            }
        }
        let targets = try await ObjectTargets(properties.compactMap(destination), visit)
        let toOne = properties.compactMap { name in
            destination(name).flatMap { targets.link(to: $0, visit.place) }.map { (name: name, link: $0) }
        }
        let links = try await visit.links(toAssetsOf: [record])
        let presenter = ValuePresenter(place: visit.place, zoneID: recordID.zoneID, links: links, isFull: true)
        let type = visit.schema?.types[record.recordType]
        let attributes = properties.filter { name in !toOne.contains { $0.name == name } }.map { property in
            let field = MirroredNaming.valueField(of: property, in: values) { $0 }
            return Attribute(
                name: property,
                type: MirroredNaming.isAssetField(field) ? kept(property, in: type) : values[field]?.typeLabel ?? "",
                value: presenter.view(values[field], of: field))
        }
        let follows = visit.connection == nil || visit.fields[followField] != nil
        let relationships = try await ObjectRelationships(of: record, toOne: toOne, followsOthers: follows, visit)
        let entity = try record.entityName ?? MirroredNaming.rootEntity(of: record.recordType) ?? ""
        let label = try visit.titles.title(of: record) ?? recordID.recordName.string
        return ObjectView(
            title: "\(entity) · \(label)", label: label, entity: entity,
            entityHref: visit.place.link(
                "objects/entity",
                QueryForm(objectsOf: entity, in: type ?? RecordType(name: record.recordType), visit.titles).parameters),
            entities: visit.place.link("objects"), recordName: recordID.recordName.string,
            record: visit.place.link(toRecord: recordID.recordName, in: recordID.zoneID),
            zone: visit.zoneName(recordID.zoneID), attributes: attributes,
            files: try await AssetFileView.all(try record.fields.assets(), of: record, links: links, visit: visit),
            relationships: relationships.rows,
            refusals: relationships.refusals,
            follow: follows
                ? nil : visit.place.link("object", [("name", recordID.recordName.string), (followField, "1")]),
            sample: ObjectModel.sample(visit), isBuilding: relationships.refusals.contains(where: \.isBuilding))
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

// MARK: - Relationships

/// The relationships of an object: those that its record has, and those that only other records tell.
struct ObjectRelationships {
    /// The objects of a relationship.
    struct Row: ViewModel {
        let name: String
        /// `to-one`, `to-many` or `many-to-many`.
        let kind: String
        let objects: [Frame.Link]
        /// All of them in a table, if there may be more.
        let more: Frame.Link?
    }

    /// The maximum number of objects of a relationship on the page.
    private static let limit = 25
    /// The maximum number of pairs that are read.
    private static let pairLimit = 200

    private(set) var rows: [Row] = []
    /// The queries that an index would allow.
    private(set) var refusals: [QueryRefusal] = []
    /// The type and field of each refusal. The entities of a type need the same index.
    private var refused: Set<[Name]> = []

    private let recordID: RecordID
    private let recordType: Name
    private let works: IndexWorks
    private let here: String
    private let visit: Visit

    /// - Parameters:
    ///   - toOne: the to-one relationships of the record, with their links.
    ///   - followsOthers: false to leave out what other records tell.
    init(of record: StoredRecord, toOne: [(name: String, link: Frame.Link)], followsOthers: Bool, _ visit: Visit)
        async throws
    {
        recordID = record.recordID
        recordType = record.recordType
        works = try await visit.indexWorks()
        here = visit.place.link(toObject: record.recordID)
        self.visit = visit
        rows = toOne.map { Row(name: $0.name, kind: "to-one", objects: [$0.link], more: nil) }
        guard followsOthers else { return }
        for entity in try await ObjectModel.entities(visit, isWhole: false) {
            for relationship in entity.toOne where relationship.types.contains(recordType) {
                try await addInverse(of: relationship.name, in: entity)
            }
        }
        try await addPairs()
    }

    /// A query with one filter that equals or contains the object's record name.
    private func form(_ type: Name, _ field: Name, _ comparator: Comparator) -> QueryForm {
        var form = QueryForm(FormFields())
        form.type = type
        form.filters = [QueryForm.Filter(field, comparator, exactly: recordID.recordName.string)]
        return form
    }

    /// The answer to a form in the object's zone; `nil` if it was refused, which ``refusals`` tells then.
    private mutating func answer(to form: QueryForm, of type: RecordType, limit: Int, keys: Set<Name>) async throws
        -> QueryPage?
    {
        let key = [type.name] + form.filters.prefix(1).map(\.field)
        if refused.contains(key) { return nil }
        let plan = CheckedQuery(form, of: type)
        var problems = visit.schema.map { IndexRules.problems(of: plan.query, in: $0, building: works.builds) } ?? []
        if problems.isEmpty {
            let request = QueryRequest(
                plan.query, in: .zone(recordID.zoneID), limit: PageLimit(records: limit), desiredKeys: keys)
            do {
                return try await visit.measure { [visit] in try await visit.database.query(request) }
            } catch let error as RecordError where error.isAboutIndexes {
                // Only iCloud itself knows its indexes.
                problems = [.invalid(error)]
            }
        }
        var refusal = QueryRefusal(
            problems, plan: plan, form: form, type: type, works: works, back: here, answers: nil, visit: visit)
        refusal.worksID += "-\(refusals.count)"
        refusals.append(refusal)
        refused.insert(key)
        return nil
    }

    /// The objects whose to-one relationship leads to this one. Its own record does not tell of them.
    private mutating func addInverse(of relationship: String, in entity: ObjectEntity) async throws {
        var form = form(entity.type.name, MirroredNaming.field(of: relationship), .equals)
        form.filters.append(QueryForm.Filter(MirroredNaming.entityField, .equals, exactly: entity.name))
        let titles = visit.titles
        guard
            let page = try await answer(
                to: form, of: entity.type, limit: Self.limit + 1, keys: Set(titles.fields(of: entity.type.name)))
        else { return }
        let links = try page.records.prefix(Self.limit).map { record in
            Frame.Link(
                text: try titles.title(of: record) ?? record.recordID.recordName.string,
                href: visit.place.link(toObject: record.recordID))
        }
        let name = "\(entity.name), by its \(relationship)"
        rows.append(
            Row(
                name: name, kind: "to-many", objects: links,
                more: Frame.Link(
                    text: page.records.count > Self.limit ? "All in a table" : "As a table",
                    href: visit.place.link("objects/entity", form.parameters))))
    }

    /// The objects that pairs link to this one. Either end may be first in the text, so a search for its words finds
    /// them.
    private mutating func addPairs() async throws {
        guard let type = visit.schema?.types[MirroredLink.recordType] else { return }
        let form = form(MirroredLink.recordType, MirroredLink.namesField, .containsAllTokens)
        let keys: Set = [MirroredLink.namesField, MirroredLink.relationshipsField, MirroredLink.entitiesField]
        guard let page = try await answer(to: form, of: type, limit: Self.pairLimit, keys: keys) else { return }
        let ends = try page.records.flatMap { try MirroredLink($0)?.ends(with: recordID.recordName) ?? [] }
        let others = ends.map { RecordID(recordName: $0.other.recordName, zoneID: recordID.zoneID) }
        let targets = try await ObjectTargets(others, visit)
        var links: [String: [Frame.Link]] = [:]
        for (end, other) in zip(ends, others) {
            let name = "\(end.own.relationship)\(end.other.entityName.map { " (\($0))" } ?? "")"
            // The other end may be gone, or not be there yet.
            links[name, default: []].append(
                targets.link(to: other, visit.place)
                    ?? Frame.Link(text: other.recordName.string, href: visit.place.link(toObject: other)))
        }
        for (name, links) in links.sorted(by: { $0.key < $1.key }) {
            let isPart = links.count > Self.limit || page.continuationMarker != nil
            rows.append(
                Row(
                    name: name, kind: "many-to-many", objects: Array(links.prefix(Self.limit)),
                    more: Frame.Link(
                        text: isPart ? "All pairs as records" : "The pairs as records",
                        href: visit.place.link("query", form.parameters))))
        }
    }
}
