internal import JSON
public import Records

/// Looks at every record of a database, or of one of its zones, for what is stored without a word and an app stumbles over later.
///
/// It reads a page at a time, whatever is there, and changes nothing. It is no snapshot: a record that is saved meanwhile is told of as it
/// was or not at all.
public struct RecordCheck: Sendable {
    /// How far it is.
    public struct Progress: Sendable, Hashable {
        public var zones = 0
        public var records = 0
        public var findings = 0
        /// Records in all zones, where the database counts.
        public var total: Int?

        public init() {}
    }

    /// Says whether a file of assets is stored.
    public typealias FileLookup = @Sendable (FileChecksum) async throws -> Bool

    /// Names that are looked up at a time.
    private static let lookupSize = 200
    /// Targets that are remembered, so that what many refer to is looked up once.
    private static let memory = 20_000

    private let database: any RecordListing
    private let zoneID: ZoneID?
    private let isStored: FileLookup?

    /// - Parameters:
    ///   - zoneID: the zone to look at; `nil` for all of the database.
    ///   - isStored: whether a file is stored; `nil` leaves assets unchecked.
    public init(_ database: any RecordListing, zoneID: ZoneID? = nil, isStored: FileLookup? = nil) {
        self.database = database
        self.zoneID = zoneID
        self.isStored = isStored
    }

    /// - Parameters:
    ///   - report: is told how far it is after each page.
    ///   - found: takes what is found, in the order of zones and names.
    /// - Throws: `RecordError`, what `found` throws, and `CancellationError`.
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
            repeat {
                try Task.checkCancellation()
                let page = try await database.list(RecordListRequest(zoneID, after: after))
                for finding in try await findings(in: page.records, &known) {
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
        guard let counting = database as? any RecordCounting else { return nil }
        var total = 0
        for zoneID in zones { total += try await counting.counts(in: zoneID).total }
        return total
    }

    // MARK: A page

    private func findings(in records: [StoredRecord], _ known: inout Known) async throws -> [RecordFinding] {
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
            let missing = rule.links.filter { known.targets.isMissing($0.target) }.map(rule.dangling)
            if !missing.isEmpty { doubtful.insert(rule.record.recordID) }
            findings += missing
            for (field, asset) in rule.assets where isStored != nil {
                if let checksum = FileChecksum(asset.fileChecksum), known.files.isMissing(checksum) { findings.append(rule.missing(asset, in: field)) }
            }
        }
        if doubtful.isEmpty { return findings }
        // What was saved or deleted since the page was read is not told of: its target may have gone with it.
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

    /// Those of the records that are as they were.
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

/// What was looked up before.
private struct Known {
    var targets: Lookups<RecordID>
    var files: Lookups<FileChecksum>

    init(limit: Int) {
        targets = Lookups(limit: limit)
        files = Lookups(limit: limit)
    }
}

/// What is there and what is not, as far as it was looked up lately.
private struct Lookups<Key: Hashable & Sendable> {
    private let limit: Int
    private var young: Set<Key> = []
    private var old: Set<Key> = []
    private var missing: Set<Key> = []

    init(limit: Int) {
        self.limit = limit
    }

    /// Forgets what has become much, and all that was missing: it may be there by now. Called between pages, so that a page finds what was
    /// looked up for it.
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
    /// The elements, so many at a time.
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
