internal import CloudKitClient
internal import RecordStore
public import Records

/// Pulls a type of the public database, which has no feed. It queries records by modification time, from a little
/// before the latest known one, and compares record names.
struct TypePull {
    let replica: Replica
    let type: Name
    let files: FileFetcher?
    let options: MirrorOptions
    let meter: MirrorMeter
    private(set) var report = PullReport()

    private var local: any RecordDatabase { replica.local }
    private var remote: DatabaseClient { replica.remote }

    init(_ replica: Replica, _ type: Name, files: FileFetcher?, _ options: MirrorOptions, _ meter: MirrorMeter) {
        self.replica = replica
        self.type = type
        self.files = files
        self.options = options
        self.meter = meter
    }

    /// - Throws: the errors of ``FeedPull/run()``.
    mutating func run(at now: Timestamp) async throws {
        meter.change { [type] in $0.stage = .type(type) }
        let marks = try await local.require(.mirrorRecords).mirrorMarks()
        let indexes = ["modifiedTimestamp QUERYABLE", "modifiedTimestamp SORTABLE"]
        guard try await step("finding changes", indexes, { pull in try await pull.changes(marks) }) else { return }
        let swept = marks[Marks.sweep(of: type)].flatMap { Int64($0) } ?? 0
        guard now.milliseconds - swept >= options.sweepInterval.milliseconds else { return }
        meter.change { $0.stage = .comparingNames }
        _ = try await step("finding deletions", ["recordName QUERYABLE"]) { pull in try await pull.sweep(at: now) }
    }

    /// - Returns: `false` if the origin refuses the query.
    private mutating func step(_ purpose: String, _ indexes: [String], _ body: (inout TypePull) async throws -> Void)
        async throws -> Bool
    {
        do {
            try await body(&self)
            return true
        } catch let failure as CloudKitFailure {
            guard failure.isOfOnePart, case .refused(let error) = failure.kind else {
                try await replica.checkThatOthersAreAnswered(after: failure)
                report.problems.append(.failed(.public, nil, reason: "\(type): \(failure)"))
                return false
            }
            switch error.known {
            case .recordNameNotQueryable, .notQueryable, .notSortable, .notMarked, .typeNotIndexable:
                report.problems.append(
                    .missingIndexes(type: type, purpose: purpose, indexes: indexes, reason: error.reason))
            case .unknownType:
                report.problems.append(.unknownType(type))
            case _ where error.code == .notFound:
                report.problems.append(.unknownType(type))
            default:
                report.problems.append(.failed(.public, nil, reason: "\(type): \(error)"))
            }
        } catch let error as ServerError {
            report.problems.append(.failed(.public, nil, reason: "\(type): \(error)"))
        } catch let error as RecordError where error.code == .badRequest || error.code == .conflict {
            report.problems.append(.failed(.public, nil, reason: "\(type): \(error.reason)"))
        }
        return false
    }

    private mutating func changes(_ marks: [Name: String]) async throws {
        let mark = Marks.modification(of: type)
        var latest = marks[mark].flatMap { Int64($0) } ?? 0
        let since = Timestamp(milliseconds: max(0, latest - options.overlap.milliseconds))
        let query = Query(
            recordType: type,
            filters: [.init(SystemField.modTime.schemaName, .greaterThanOrEquals, FieldInput(.timestamp(since)))],
            sorts: [.init(SystemField.modTime.schemaName)])
        try await eachPage(of: query) { page in
            var reading = PageReading(zoneID: .default)
            try read(page, &reading)
            latest = max(latest, reading.changes.compactMap { $0.record?.modified.timestamp.milliseconds }.max() ?? 0)
            var batch = MirrorBatch(
                .default, changes: reading.changes.map { MirrorBatch.Change($0) }, marks: [mark: String(latest)])
            if let files {
                try await files.bringFiles(of: &batch, reading.received, in: replica, problems: &report.problems)
            }
            report.add(try await local.require(.mirrorRecords).mirror(batch))
            report.problems += reading.problems.filter { !report.problems.contains($0) }
            meter.change { $0.records += page.records.count }
        }
    }

    private func eachPage(of query: Query, desiredKeys: Set<Name>? = nil, _ body: (RecordsPage) async throws -> Void)
        async throws
    {
        var trail = remote.container.trail(of: "records/query", after: nil)
        var marker: String?
        repeat {
            let page = try await remote.query(query, limit: options.pageSize, desiredKeys: desiredKeys, after: marker)
            if let next = page.continuationMarker { try await trail.follow(next, isEmpty: page.records.isEmpty) }
            try await body(page)
            marker = page.continuationMarker
        } while marker != nil
    }

    private func read(_ page: RecordsPage, _ reading: inout PageReading) throws {
        for result in page.records {
            switch result {
            case .success(let record): reading.add(record)
            case .failure(let error):
                guard let name = error.recordName, !error.isTemporary else { throw error }
                reading.fail(name, "\(error)")
            }
        }
    }

    /// Deletes the records that the origin no longer has. Names that the query did not return are looked up first,
    /// because indexes lag.
    private mutating func sweep(at now: Timestamp) async throws {
        _ = try await local.require(.mirrorRecords).mirror(MirrorBatch(.default, clearsOriginNames: true))
        try await eachPage(of: Query(recordType: type), desiredKeys: []) { page in
            let names = page.records.compactMap { result -> Name? in
                switch result {
                case .success(let record): record.recordID.recordName
                case .failure(let error): error.recordName
                }
            }
            _ = try await local.require(.mirrorRecords).mirror(MirrorBatch(.default, originNames: names))
        }
        var after: Name?
        repeat {
            let names = try await local.require(.mirrorRecords).namesMissingInOrigin(
                in: .default, recordType: type, after: after, limit: DatabaseClient.itemLimit)
            if !names.isEmpty {
                let gone = zip(names, try await remote.lookup(names, desiredKeys: [])).compactMap {
                    name, result -> MirrorBatch.Change? in
                    guard case .failure(let error) = result, error.code == .notFound else { return nil }
                    return MirrorBatch.Change(.deleted(RecordID(recordName: name, zoneID: .default)))
                }
                report.add(try await local.require(.mirrorRecords).mirror(MirrorBatch(.default, changes: gone)))
            }
            after = names.last
        } while after != nil
        _ = try await local.require(.mirrorRecords).mirror(
            MirrorBatch(.default, marks: [Marks.sweep(of: type): String(now.milliseconds)], clearsOriginNames: true))
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}

// MARK: - Schema

/// The sources from which a mirror's schema is known. CloudKit Web Services do not report a container's schema.
public struct SchemaEvidence: Sendable, Hashable {
    public enum Source: Sendable, Hashable {
        /// The origin's schema file.
        case declared
        /// The values of records. Fields without a value in any record are unknown, as are the origin's indexes and
        /// roles.
        case observed
    }

    public struct TypeEvidence: Sendable, Hashable {
        public var source: Source
        public var fields: [Name: Source]
    }

    public var types: [Name: TypeEvidence]

    /// True if a schema file declares every type and field that was seen.
    public var isComplete: Bool {
        types.values.allSatisfy { type in type.source == .declared && type.fields.values.allSatisfy { $0 == .declared }
        }
    }

    /// - Parameters:
    ///   - schema: the mirror's schema.
    ///   - declared: the origin's schema from a file; `nil` if there is none.
    init(of schema: Schema, declared: Schema?) {
        types = schema.types.filter { $0.key != Schema.usersType }.mapValues { type in
            let known = declared?.types[type.name]
            return TypeEvidence(
                source: known == nil ? .observed : .declared,
                fields: Dictionary(
                    uniqueKeysWithValues: type.fields.keys.map {
                        ($0, known?.fields[$0] == nil ? Source.observed : .declared)
                    }))
        }
    }
}

extension RecordType {
    /// The type with every index that its fields support.
    var withAllIndexes: RecordType {
        var type = self
        for (name, definition) in type.fields { type.fields[name]?.indexes.formUnion(definition.type.allowedIndexes) }
        for field in SystemField.implicit { type.systemIndexes[field, default: []].formUnion(field.allowedIndexes) }
        return type
    }
}
