internal import JSON
public import Records

/// Checks the records of a database or zone for problems that the server accepts but that cause trouble in apps.
///
/// Reads one page at a time and changes nothing. It is not a snapshot: records saved during the check are reported in
/// their old version or not at all.
public struct RecordCheck: Sendable {
    /// Progress of a check.
    public struct Progress: Sendable, Hashable {
        public var zones = 0
        public var records = 0
        public var findings = 0
        /// Number of records in all zones, if the database counts them.
        public var total: Int?

        public init() {}
    }

    /// Returns `true` if an asset file is stored.
    public typealias FileLookup = @Sendable (FileChecksum) async throws -> Bool

    /// Maximum number of names per lookup.
    private static let lookupSize = 200
    /// Number of lookup results kept, so that common targets are looked up once.
    private static let memory = 20_000

    private let database: any RecordDatabase
    private let zoneID: ZoneID?
    private let isStored: FileLookup?
    private let isKnown: ShareCheck.UserLookup?
    private let now: Timestamp

    /// - Parameters:
    /// - zoneID: the zone to check; `nil` for all zones.
    /// - isStored: checks asset files; `nil` skips assets.
    /// - isKnown: checks the addresses of invitations; `nil` skips them.
    public init(
        _ database: any RecordDatabase, zoneID: ZoneID? = nil, isStored: FileLookup? = nil, isKnown: ShareCheck.UserLookup? = nil, now: Timestamp = .now()
    ) {
        self.database = database
        self.zoneID = zoneID
        self.isStored = isStored
        self.isKnown = isKnown
        self.now = now
    }

    /// Runs the check.
    /// - Parameters:
    /// - report: called after each page.
    /// - found: called for each finding, in the order of zones and names.
    /// - Throws: `RecordError`, errors of `found`, and `CancellationError`.
    public func run(
        report: (Progress) async -> Void = { _ in }, found: (RecordFinding) async throws -> Void
    ) async throws -> Progress {
        var progress = Progress()
        let zones: [ZoneID]
        if let zoneID { zones = [zoneID] } else { zones = try await database.zones().map(\.zoneID) }
        progress.total = try await total(in: zones)
        var known = Known(limit: Self.memory)
        for zoneID in zones {
            var after: Name?
            let hierarchies = try await ZoneHierarchies(of: zoneID, in: database)
            repeat {
                try Task.checkCancellation()
                let page = try await database.list(RecordListRequest(zoneID, after: after))
                for finding in try await findings(in: page.records, hierarchies, &known) {
                    progress.findings += 1
                    try await found(finding)
                }
                progress.records += page.records.count
                after = page.last
                await report(progress)
            } while after != nil
            progress.zones += 1
        }
        await report(progress)
        return progress
    }

    private func total(in zones: [ZoneID]) async throws -> Int? {
        guard database.can(.countRecords) else { return nil }
        var total = 0
        for zoneID in zones { total = total.addingSaturated(try await database.counts(in: zoneID).total) }
        return total
    }

    // MARK: A page

    private func findings(in records: [StoredRecord], _ hierarchies: ZoneHierarchies?, _ known: inout Known) async throws -> [RecordFinding] {
        known.targets.turnPage()
        known.files.turnPage()
        let rules = try records.map { try RecordRules($0) }
        for record in records { known.targets.note(record.recordID, isThere: true) }
        try await lookUp(Set(rules.flatMap { $0.links.map(\.target) }), &known)
        try await lookUp(Set(rules.flatMap { $0.assets.compactMap { FileChecksum($0.asset.fileChecksum) } }), &known)
        var findings: [RecordFinding] = []
        var doubtful: Set<RecordID> = []
        for rule in rules {
            findings += rule.findings
            if let finding = hierarchies?.finding(for: rule.record) { findings.append(finding) }
            findings += try await ShareCheck.findings(in: rule.record, at: now, isKnown: isKnown)
            let missing = rule.links.filter { known.targets.isMissing($0.target) }.map(rule.dangling)
            if !missing.isEmpty { doubtful.insert(rule.record.recordID) }
            findings += missing
            for (field, asset) in rule.assets where isStored != nil {
                if let checksum = FileChecksum(asset.fileChecksum), known.files.isMissing(checksum) { findings.append(rule.missing(asset, in: field)) }
            }
        }
        if doubtful.isEmpty { return findings }
        // Records saved or deleted since the page was read are not reported, because their targets may have changed
        // with them.
        let unchanged = try await unchanged(records.filter { doubtful.contains($0.recordID) })
        return findings.filter { !doubtful.contains($0.recordID) || unchanged.contains($0.recordID) }
    }

    private func lookUp(_ targets: Set<RecordID>, _ known: inout Known) async throws {
        let unknown = targets.filter { !known.targets.isKnown($0) }
        for part in unknown.inParts(of: Self.lookupSize) {
            for (target, result) in zip(part, try await database.fetch(part, desiredKeys: [])) {
                switch result {
                case .success: known.targets.note(target, isThere: true)
                case .failure(let error) where error.code == .notFound || error.code == .zoneNotFound: known.targets.note(target, isThere: false)
                case .failure(let error): throw error
                }
            }
        }
    }

    private func lookUp(_ checksums: Set<FileChecksum>, _ known: inout Known) async throws {
        guard let isStored else { return }
        for checksum in checksums where !known.files.isKnown(checksum) { known.files.note(checksum, isThere: try await isStored(checksum)) }
    }

    /// The records that have not changed.
    private func unchanged(_ records: [StoredRecord]) async throws -> Set<RecordID> {
        var unchanged: Set<RecordID> = []
        for part in records.inParts(of: Self.lookupSize) {
            for (record, result) in zip(part, try await database.fetch(part.map(\.recordID), desiredKeys: [])) {
                if case .success(let now) = result, Name(now.recordChangeTag) == Name(record.recordChangeTag) { unchanged.insert(record.recordID) }
            }
        }
        return unchanged
    }
}

/// Results of earlier lookups.
private struct Known {
    var targets: Lookups<RecordID>
    var files: Lookups<FileChecksum>

    init(limit: Int) {
        targets = Lookups(limit: limit)
        files = Lookups(limit: limit)
    }
}

/// Recent lookup results.
private struct Lookups<Key: Hashable & Sendable> {
    private let limit: Int
    private var young: Set<Key> = []
    private var old: Set<Key> = []
    private var missing: Set<Key> = []

    init(limit: Int) {
        self.limit = limit
    }

    /// Drops old results, and all misses, which may exist by now. Called between pages, so that all lookups of a page
    /// are kept.
    mutating func turnPage() {
        missing = []
        if young.count > limit { (old, young) = (young, []) }
    }

    func isKnown(_ key: Key) -> Bool { young.contains(key) || old.contains(key) || missing.contains(key) }
    func isMissing(_ key: Key) -> Bool { missing.contains(key) }

    mutating func note(_ key: Key, isThere: Bool) {
        if isThere { young.insert(key) } else { missing.insert(key) }
    }
}

extension Collection {
    /// Splits the collection into parts of at most `size` elements.
    fileprivate func inParts(of size: Int) -> [[Element]] {
        var parts: [[Element]] = []
        var rest = self[...]
        while !rest.isEmpty {
            parts.append(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return parts
    }
}
