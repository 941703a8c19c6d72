internal import Console
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

/// Finds the entities of a place and their relationships in the first objects of each record type.
enum ObjectModel {
    /// The number of records that are read of each type.
    private static let sampleSize = 100
    private static let sampleBytes = 1 << 20
    /// The maximum number of types that are read.
    private static let typeLimit = 50
    /// The number of record names of a field that are followed.
    private static let followed = 4
    /// The maximum number of entities that the sample lacks.
    private static let othersLimit = 50
    /// The maximum size of a type whose entities are counted one by one, in records.
    private static let countedLimit = 10_000

    /// The records that are read, in words.
    static func sample(_ visit: Visit) -> String {
        "the first \(sampleSize) records of each \(visit.entityTypes.count > typeLimit ? "of the first \(typeLimit) types" : "type")"
    }

    /// - Parameter isWhole: false to leave out entities that the sample lacks, and the counts of those that share a
    ///   type.
    /// - Throws: `RecordError` for a failure that is not about an index.
    static func entities(_ visit: Visit, isWhole: Bool) async throws -> [ObjectEntity] {
        let counts = await visit.recordCounts()
        var found: [ObjectEntity] = []
        var names: [[String: [RecordID]]] = []
        for type in visit.entityTypes.prefix(typeLimit) {
            let count = counts.map { $0[type.name] ?? 0 }
            var objects: [(entity: String, record: StoredRecord, fields: [Field])] = []
            var problem: String?
            do {
                if count != 0 {
                    objects = try await sample(of: type, with: MirroredNaming.entityField, visit).map(object)
                }
                // The count of a type is that of its entity only if there is no other.
                if isWhole, count != nil {
                    objects += try await others(than: Set(objects.map(\.entity)), in: type, visit).map(object)
                }
            } catch let error as RecordError where error.isAboutIndexes {
                problem = error.reason
            }
            let groups = Dictionary(grouping: objects, by: \.entity)
            for name in groups.isEmpty ? [MirroredNaming.rootEntity(of: type.name) ?? ""] : groups.keys.sorted() {
                var entity = ObjectEntity(name, of: type, count: groups.count < 2 ? count : nil, problem: problem)
                if groups.count > 1 {
                    entity.keepAttributes(of: (groups[name] ?? []).flatMap(\.fields))
                    if isWhole, let count, count <= countedLimit {
                        entity.count = try await self.count(of: name, in: type.name, visit)
                    }
                }
                names.append(candidates(in: groups[name] ?? []))
                found.append(entity)
            }
        }
        let targets = try await ObjectTargets(names.flatMap { $0.values.joined() }, visit)
        for (index, candidates) in names.enumerated() { found[index].follow(candidates, targets) }
        return found
    }

    /// One pair of each many-to-many relationship.
    static func manyToMany(_ visit: Visit) async throws -> [MirroredLink] {
        guard let type = visit.schema?.types[MirroredLink.recordType] else { return [] }
        do {
            let links = try await sample(of: type, with: MirroredLink.relationshipsField, visit).compactMap {
                try MirroredLink($0)
            }
            let kinds = Dictionary(
                links.map {
                    ([$0.first.entityName, $0.first.relationship, $0.second.entityName, $0.second.relationship], $0)
                }
            ) { $1 }
            return kinds.sorted { $0.key.map { $0 ?? "" }.lexicographicallyPrecedes($1.key.map { $0 ?? "" }) }.map(
                \.value)
        } catch let error as RecordError where error.isAboutIndexes {
            return []
        }
    }

    private static func object(_ record: StoredRecord) throws -> (entity: String, record: StoredRecord, fields: [Field])
    {
        (try record.entityName ?? "", record, try record.fields.decoded())
    }

    private static func count(of entity: String, in type: Name, _ visit: Visit) async throws -> Int {
        let query = Query(
            recordType: type, filters: [Query.Filter(MirroredNaming.entityField, .equals, FieldInput(.string(entity)))])
        let request = QueryRequest(query, in: visit.queryArea, desiredKeys: [])
        return try await visit.measure {
            try await MatchCount(request, after: try await visit.database.query(request), in: visit.database).count
        }
    }

    /// An object of each entity whose name is before or behind those of the known ones. An index tells at once that
    /// there is none.
    private static func others(than known: Set<String>, in type: RecordType, _ visit: Visit) async throws
        -> [StoredRecord]
    {
        let names = known.map { Name($0) }
        var found: [StoredRecord] = []
        for (comparator, outermost) in [(Comparator.lessThan, names.min()), (.greaterThan, names.max())] {
            var edge = outermost?.string
            while let name = edge, found.count < othersLimit {
                let filter = Query.Filter(MirroredNaming.entityField, comparator, FieldInput(.string(name)))
                let object = try await records(of: type, where: filter, limit: 1, visit).first
                found += object.map { [$0] } ?? []
                edge = try object?.entityName
            }
        }
        return found
    }

    /// The first records of a type with a text in a field. Such a filter needs no index of record names, which Core
    /// Data's types lack.
    private static func sample(of type: RecordType, with field: Name, _ visit: Visit) async throws -> [StoredRecord] {
        try await records(
            of: type, where: Query.Filter(field, .greaterThan, FieldInput(.string(""))), limit: sampleSize, visit)
    }

    /// The first records that match a filter, without bytes.
    ///
    /// Asks only if the known indexes allow it: a refused query would be among the refusals that the page Query advice
    /// shows.
    private static func records(of type: RecordType, where filter: Query.Filter, limit: Int, _ visit: Visit)
        async throws -> [StoredRecord]
    {
        let query = Query(recordType: type.name, filters: [filter])
        if let schema = visit.schema, let problem = IndexRules.problems(of: query, in: schema).first {
            throw problem.error
        }
        let keys = Set(type.fields.filter { $0.value.type.valueType != .bytes }.keys)
        let request = QueryRequest(
            query, in: visit.queryArea, limit: PageLimit(records: limit, bytes: sampleBytes), desiredKeys: keys)
        return try await visit.measure { try await visit.database.query(request) }.records
    }

    /// The texts that may be to-one relationships, by the property.
    private static func candidates(in objects: [(entity: String, record: StoredRecord, fields: [Field])]) -> [String:
        [RecordID]]
    {
        var found: [String: [RecordID]] = [:]
        for object in objects {
            for field in object.fields {
                guard let property = MirroredNaming.property(of: field.name),
                    found[property, default: []].count < followed,
                    let name = ObjectTargets.mayBeRecordName(field.value)
                else { continue }
                let recordID = RecordID(recordName: name, zoneID: object.record.recordID.zoneID)
                if !found[property, default: []].contains(recordID) { found[property, default: []].append(recordID) }
            }
        }
        return found
    }
}

extension ObjectEntity {
    /// - Parameter count: the number of objects; `nil` if it is unknown.
    fileprivate init(_ name: String, of type: RecordType, count: Int?, problem: String?) {
        (self.name, self.type, self.count, self.problem) = (name, type, count, problem)
        attributes = Set(type.fields.keys.compactMap { MirroredNaming.property(of: $0) }).sorted()
    }

    /// A type has the fields of all its entities. Fields without a value belong to others.
    fileprivate mutating func keepAttributes(of fields: some Sequence<Field>) {
        let used = Set(fields.compactMap { MirroredNaming.property(of: $0.name) })
        let unread = Set(
            type.fields.filter { $0.value.type.valueType == .bytes }.keys.compactMap { MirroredNaming.property(of: $0) }
        )
        attributes = attributes.filter { used.contains($0) || unread.contains($0) }
    }

    /// Finds the to-one relationships among the properties.
    fileprivate mutating func follow(_ names: [String: [RecordID]], _ targets: ObjectTargets) {
        for (property, recordIDs) in names.sorted(by: { $0.key < $1.key }) {
            let found = recordIDs.compactMap { targets[$0] }
            if found.isEmpty { continue }
            toOne.append(
                ToOne(
                    name: property, destinations: Set(found.map(\.entityName)).sorted(),
                    types: Set(found.map(\.recordType))))
        }
        attributes.removeAll { name in toOne.contains { $0.name == name } }
    }
}

extension RecordError {
    /// True if a query may have been refused for a type that is not there, or for an index that is missing or not
    /// complete.
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
    init(objectsOf entity: String, in type: RecordType, _ titles: RecordTitles) {
        self.init(FormFields())
        self.type = type.name
        filters = [Filter(MirroredNaming.entityField, .equals, exactly: entity)]
        let label = titles.fields(of: type.name).first { type.queryField(named: $0)?.canSort ?? false }
        sorts = label.map { [Sort(field: $0, isDescending: false, origin: "")] } ?? []
    }
}

// MARK: - Targets of relationships

/// The objects that others lead to, each read once, without most of its fields.
///
/// Core Data keeps a to-one relationship as a record name in a text field, so that it looks like an attribute. Only the
/// record behind it tells.
struct ObjectTargets {
    struct Target {
        let recordType: Name
        let entityName: String
        /// `nil` for an object without a text that tells it from others.
        let label: String?
    }

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
            let batch = Array(left.prefix(RequestObject.pageLimit))
            left = left.dropFirst(batch.count)
            let results = try await visit.measure {
                try await visit.database.fetch(batch, desiredKeys: keys, bytesLimit: Self.bytesLimit)
            }
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
        found[recordID].map {
            Frame.Link(text: $0.label ?? recordID.recordName.string, href: place.link(toObject: recordID))
        }
    }

    /// The value of a to-one relationship, by the form of the text: Core Data's record names end with a UUID.
    static func mayBeRecordName(_ value: FieldValue?) -> Name? {
        guard case .string(let text)? = value, text.utf8.count <= RecordID.nameLimit, text.utf8.count >= 36 else {
            return nil
        }
        let isUUID = text.utf8.suffix(36).enumerated().allSatisfy { place, byte in
            [8, 13, 18, 23].contains(place)
                ? byte == UInt8(ascii: "-")
                : (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte & 0xDF)
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
            guard
                case .string(let name)? = try fields.values(of: [MirroredNaming.entityField])[
                    MirroredNaming.entityField]
            else { return nil }
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
