internal import Console
internal import JSON
internal import RecordStore
internal import Records

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
    init(of record: StoredRecord, toOne: [(name: String, link: Frame.Link)], followsOthers: Bool, _ visit: Visit) async throws {
        recordID = record.recordID
        recordType = record.recordType
        works = try await visit.indexWorks()
        here = visit.place.link(toObject: record.recordID)
        self.visit = visit
        rows = toOne.map { Row(name: $0.name, kind: "to-one", objects: [$0.link], more: nil) }
        guard followsOthers else { return }
        for entity in try await ObjectModel.entities(visit, isWhole: false) {
            for relationship in entity.toOne where relationship.types.contains(recordType) { try await addInverse(of: relationship.name, in: entity) }
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
    private mutating func answer(to form: QueryForm, of type: RecordType, limit: Int, keys: Set<Name>) async throws -> QueryPage? {
        let key = [type.name] + form.filters.prefix(1).map(\.field)
        if refused.contains(key) { return nil }
        let plan = QueryPlan(form, of: type)
        var problems = visit.schema.map { IndexRules.problems(of: plan.query, in: $0, building: works.builds) } ?? []
        if problems.isEmpty {
            let request = QueryRequest(plan.query, in: .zone(recordID.zoneID), limit: PageLimit(records: limit), desiredKeys: keys)
            do {
                return try await visit.measure { [visit] in try await visit.database.query(request) }
            } catch let error as RecordError where error.isAboutIndexes {
                // Only iCloud itself knows its indexes.
                problems = [.invalid(error)]
            }
        }
        var refusal = QueryRefusal(problems, plan: plan, form: form, type: type, works: works, back: here, answers: nil, visit: visit)
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
        guard let page = try await answer(to: form, of: entity.type, limit: Self.limit + 1, keys: Set(titles.fields(of: entity.type.name))) else { return }
        let links = try page.records.prefix(Self.limit).map { record in
            Frame.Link(text: try titles.title(of: record) ?? record.recordID.recordName.string, href: visit.place.link(toObject: record.recordID))
        }
        let name = "\(entity.name), by its \(relationship)"
        rows.append(
            Row(
                name: name, kind: "to-many", objects: links,
                more: Frame.Link(
                    text: page.records.count > Self.limit ? "All in a table" : "As a table", href: visit.place.link("objects/entity", form.parameters))))
    }

    /// The objects that pairs link to this one. Either end may be first in the text, so a search for its words finds them.
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
                targets.link(to: other, visit.place) ?? Frame.Link(text: other.recordName.string, href: visit.place.link(toObject: other)))
        }
        for (name, links) in links.sorted(by: { $0.key < $1.key }) {
            let isPart = links.count > Self.limit || page.continuationMarker != nil
            rows.append(
                Row(
                    name: name, kind: "many-to-many", objects: Array(links.prefix(Self.limit)),
                    more: Frame.Link(text: isPart ? "All pairs as records" : "The pairs as records", href: visit.place.link("query", form.parameters))))
        }
    }
}
