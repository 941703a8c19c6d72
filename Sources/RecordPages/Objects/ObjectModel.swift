internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// An entity of Core Data, with what its records tell of the model: Core Data's own model is in the app.
struct ObjectEntity {
    struct ToOne {
        let name: String
        /// The entities that it leads to.
        let destinations: [String]
        /// The types of these.
        let types: Set<Name>
    }

    let name: String
    let type: RecordType
    /// The number of objects; `nil` if it is unknown.
    var count: Int?
    /// Without relationships, as far as they are known.
    var attributes: [String]
    var toOne: [ToOne] = []
    /// The reason why the entity's objects could not be read.
    var problem: String?
}

/// Finds the entities of a place and their relationships.
enum ObjectModel {
    /// The number of objects of an entity that are read to find its relationships.
    static let sampleSize = 50
    private static let sampleBytes = 1 << 20
    /// The number of record names of a field that are followed.
    private static let followed = 4
    /// The maximum number of entities of a type, and of many-to-many relationships.
    private static let valueLimit = 50
    /// The maximum size of a type whose entities are counted one by one, in records.
    private static let countedLimit = 10_000

    /// - Parameter countsEach: false to leave out the counts of entities that share a type.
    /// - Throws: `RecordError` for a failure that is not about an index.
    static func entities(_ visit: Visit, countsEach: Bool) async throws -> [ObjectEntity] {
        let counts = await visit.recordCounts()
        var found: [ObjectEntity] = []
        var names: [[String: [RecordID]]] = []
        for type in visit.entityTypes {
            let known = try await entities(of: type, count: counts.map { $0[type.name] ?? 0 }, countsEach: countsEach, visit)
            for var entity in known {
                var sample: [StoredRecord] = []
                do {
                    if entity.count != 0 { sample = try await Self.sample(of: entity, visit) }
                } catch let error as RecordError where error.isAboutIndexes {
                    entity.problem = error.reason
                }
                let values = try sample.map { record in try record.fields.decoded() }
                if known.count > 1 { entity.keepAttributes(of: values.joined()) }
                names.append(candidates(in: zip(sample, values)))
                found.append(entity)
            }
        }
        let targets = try await ObjectTargets(names.flatMap { $0.values.joined() }, visit)
        for (index, candidates) in names.enumerated() { found[index].follow(candidates, targets) }
        return found
    }

    /// One pair of each many-to-many relationship.
    static func manyToMany(_ visit: Visit) async throws -> [MirroredLink] {
        guard visit.schema?.types[MirroredLink.recordType] != nil else { return [] }
        return try await records(with: MirroredLink.relationshipsField, in: MirroredLink.recordType, visit).compactMap { try MirroredLink($0) }
    }

    /// The entities in a type: its own, and sub-entities.
    private static func entities(of type: RecordType, count: Int?, countsEach: Bool, _ visit: Visit) async throws -> [ObjectEntity] {
        let root = MirroredNaming.rootEntity(of: type.name) ?? ""
        let attributes = Set(type.fields.keys.compactMap { MirroredNaming.property(of: $0) }).sorted()
        var names = count == 0 ? [] : try await records(with: MirroredNaming.entityField, in: type.name, visit).compactMap { try $0.entityName }
        if names.isEmpty { names = [root] }
        var entities: [ObjectEntity] = []
        for name in names {
            var entity = ObjectEntity(name: name, type: type, count: names.count == 1 ? count : nil, attributes: attributes)
            if countsEach, names.count > 1, let count, count <= countedLimit { entity.count = try await self.count(of: name, in: type.name, visit) }
            entities.append(entity)
        }
        return entities
    }

    private static func count(of entity: String, in type: Name, _ visit: Visit) async throws -> Int {
        let request = QueryRequest(query(for: entity, in: type), in: visit.queryArea, desiredKeys: [])
        return try await visit.measure {
            try await MatchCount(request, after: try await visit.database.query(request), in: visit.database).count
        }
    }

    private static func query(for entity: String, in type: Name) -> Query {
        Query(recordType: type, filters: [Query.Filter(MirroredNaming.entityField, .equals, FieldInput(.string(entity)))])
    }

    /// The first objects, without bytes.
    private static func sample(of entity: ObjectEntity, _ visit: Visit) async throws -> [StoredRecord] {
        let keys = entity.type.fields.filter { $0.value.type.valueType != .bytes }.keys
        let request = QueryRequest(
            query(for: entity.name, in: entity.type.name), in: visit.queryArea, limit: PageLimit(records: sampleSize, bytes: sampleBytes),
            desiredKeys: Set(keys))
        return try await answer(to: request, visit).records
    }

    /// The texts that may be to-one relationships, by the property.
    private static func candidates(in sample: some Sequence<(StoredRecord, [Field])>) -> [String: [RecordID]] {
        var found: [String: [RecordID]] = [:]
        for (record, fields) in sample {
            for field in fields {
                guard let property = MirroredNaming.property(of: field.name), found[property, default: []].count < followed,
                    let name = ObjectTargets.mayBeRecordName(field.value)
                else { continue }
                let recordID = RecordID(recordName: name, zoneID: record.recordID.zoneID)
                if !found[property, default: []].contains(recordID) { found[property, default: []].append(recordID) }
            }
        }
        return found
    }

    /// A record for each value of a text field, in ascending order. Each is a query of one record behind the value before, whatever lies between.
    /// - Returns: none if an index is missing.
    private static func records(with field: Name, in recordType: Name, _ visit: Visit) async throws -> [StoredRecord] {
        var found: [StoredRecord] = []
        var last = ""
        while found.count < valueLimit {
            let query = Query(
                recordType: recordType, filters: [Query.Filter(field, .greaterThan, FieldInput(.string(last)))], sorts: [Query.Sort(field)])
            let page: QueryPage
            do {
                page = try await answer(to: QueryRequest(query, in: visit.queryArea, limit: PageLimit(records: 1)), visit)
            } catch let error as RecordError where error.isAboutIndexes {
                return []
            }
            guard let record = page.records.first, case .string(let value)? = try record.fields.values(of: [field])[field], value != last else { break }
            found.append(record)
            last = value
        }
        return found
    }

    /// Asks only if the known indexes allow it: a refused query would be among the refusals that the page Query advice shows.
    private static func answer(to request: QueryRequest, _ visit: Visit) async throws -> QueryPage {
        if let schema = visit.schema, let problem = IndexRules.problems(of: request.query, in: schema).first { throw problem.error }
        return try await visit.measure { try await visit.database.query(request) }
    }
}

extension ObjectEntity {
    /// A type has the fields of all its entities. Those without a value belong to others.
    fileprivate mutating func keepAttributes(of fields: some Sequence<Field>) {
        let used = Set(fields.compactMap { MirroredNaming.property(of: $0.name) })
        let unread = Set(type.fields.filter { $0.value.type.valueType == .bytes }.keys.compactMap { MirroredNaming.property(of: $0) })
        attributes = attributes.filter { used.contains($0) || unread.contains($0) }
    }

    /// Finds the to-one relationships among the properties.
    fileprivate mutating func follow(_ names: [String: [RecordID]], _ targets: ObjectTargets) {
        for (property, recordIDs) in names.sorted(by: { $0.key < $1.key }) {
            let found = recordIDs.compactMap { targets[$0] }
            if found.isEmpty { continue }
            toOne.append(
                ToOne(name: property, destinations: Set(found.map(\.entityName)).sorted(), types: Set(found.map(\.recordType))))
        }
        attributes.removeAll { name in toOne.contains { $0.name == name } }
    }
}

extension RecordError {
    /// True if a query may have been refused for a type that is not there, or for an index that is missing or not complete.
    var isAboutIndexes: Bool { [.badRequest, .notFound, .tryAgainLater].contains(code) }
}

extension MirroredLink {
    /// - Returns: `nil` for a record that is no complete pair.
    init?(_ record: StoredRecord) throws {
        let values = try record.fields.values(of: [Self.namesField, Self.relationshipsField, Self.entitiesField])
        self.init { field in if case .string(let text)? = values[field] { text } else { nil } }
    }
}

extension QueryForm {
    /// The objects of an entity, by the attribute that tells them from each other if its index allows.
    init(objectsOf entity: String, in type: RecordType) {
        self.init(FormFields())
        self.type = type.name
        filters = [Filter(field: MirroredNaming.entityField, comparator: .equals, value: entity, distance: "")]
        let label = RecordLabel.fields.first { type.queryField(named: $0)?.canSort ?? false }
        sorts = label.map { [Sort(field: $0, isDescending: false, origin: "")] } ?? []
    }
}
