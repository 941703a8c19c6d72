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
        _ database: any RecordDatabase, zoneID: ZoneID? = nil, isStored: FileLookup? = nil,
        isKnown: ShareCheck.UserLookup? = nil, now: Timestamp = .now()
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
                let page = try await database.require(.listRecords).list(RecordListRequest(zoneID, after: after))
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
        guard let listing = database.part(.countRecords) else { return nil }
        var total = 0
        for zoneID in zones { total = total.addingSaturated(try await listing.counts(in: zoneID).total) }
        return total
    }

    // MARK: A page

    private func findings(in records: [StoredRecord], _ hierarchies: ZoneHierarchies?, _ known: inout Known)
        async throws -> [RecordFinding]
    {
        known.turnPage()
        let checked = try records.map { try CheckedRecord($0) }
        for record in records { known.note(record) }
        try await lookUp(Set(checked.flatMap { $0.links.map(\.target) }), &known)
        try await lookUp(Set(checked.flatMap { $0.assets.compactMap { FileChecksum($0.asset.fileChecksum) } }), &known)
        var findings: [RecordFinding] = []
        let circling = try await circling(records, &known)
        var doubtful = circling
        for item in checked {
            findings += item.findings(in: database.address.scope)
            if circling.contains(item.record.recordID) { findings.append(item.circle) }
            if let hierarchies, let parent = item.parentID,
                hierarchies.isNested(item.record, below: known.ancestor(parent)?.hierarchy)
            {
                findings.append(item.nestedShare)
            }
            if let finding = hierarchies?.finding(for: item.record) { findings.append(finding) }
            findings += try await ShareCheck.findings(in: item.record, at: now, isKnown: isKnown)
            let missing = item.links.filter { known.targets.isMissing($0.target) }.map(item.dangling)
            if !missing.isEmpty { doubtful.insert(item.record.recordID) }
            findings += missing
            for (field, asset) in item.assets where isStored != nil {
                if let checksum = FileChecksum(asset.fileChecksum), known.files.isMissing(checksum) {
                    findings.append(item.missing(asset, in: field))
                }
            }
        }
        if doubtful.isEmpty { return findings }
        // Records saved or deleted since the page was read are not reported, because their targets may have changed
        // with them.
        let unchanged = try await unchanged(records.filter { doubtful.contains($0.recordID) })
        return findings.filter { !doubtful.contains($0.recordID) || unchanged.contains($0.recordID) }
    }

    /// The records that are among their own ancestors.
    private func circling(_ records: [StoredRecord], _ known: inout Known) async throws -> Set<RecordID> {
        var circling: Set<RecordID> = []
        var climbs = records.filter { $0.parent != nil }.map {
            AncestorWalk(start: $0.recordID, top: $0.recordID, passed: [$0.recordID])
        }
        while !climbs.isEmpty {
            try Task.checkCancellation()
            let unknown = Set(climbs.map(\.top)).filter { known.ancestor($0) == nil && !known.targets.isMissing($0) }
            try await fetch(Array(unknown), &known)
            climbs = climbs.compactMap { climb in
                var climb = climb
                guard !known.rooted.isKnown(climb.top), let next = known.ancestor(climb.top)?.parentID else {
                    for recordID in climb.passed { known.rooted.note(recordID, isThere: true) }
                    return nil
                }
                if next == climb.start { circling.insert(next) }
                // A record below a circle is not among its own ancestors.
                guard climb.passed.insert(next).inserted else { return nil }
                climb.top = next
                return climb
            }
        }
        return circling
    }

    private func lookUp(_ targets: Set<RecordID>, _ known: inout Known) async throws {
        try await fetch(targets.filter { !known.targets.isKnown($0) }, &known)
    }

    private func fetch(_ unknown: some Collection<RecordID>, _ known: inout Known) async throws {
        for part in unknown.inParts(of: Self.lookupSize) {
            for (target, result) in zip(part, try await database.fetch(part, desiredKeys: [])) {
                switch result {
                case .success(let record): known.note(record, as: target)
                case .failure(let error) where error.code == .notFound || error.code == .zoneNotFound:
                    known.targets.note(target, isThere: false)
                case .failure(let error): throw error
                }
            }
        }
    }

    private func lookUp(_ checksums: Set<FileChecksum>, _ known: inout Known) async throws {
        guard let isStored else { return }
        for checksum in checksums where !known.files.isKnown(checksum) {
            known.files.note(checksum, isThere: try await isStored(checksum))
        }
    }

    /// The records that have not changed.
    private func unchanged(_ records: [StoredRecord]) async throws -> Set<RecordID> {
        var unchanged: Set<RecordID> = []
        for part in records.inParts(of: Self.lookupSize) {
            for (record, result) in zip(part, try await database.fetch(part.map(\.recordID), desiredKeys: [])) {
                if case .success(let now) = result, Name(now.recordChangeTag) == Name(record.recordChangeTag) {
                    unchanged.insert(record.recordID)
                }
            }
        }
        return unchanged
    }
}

/// The known part of the chain of parents above a record.
private struct AncestorWalk {
    let start: RecordID
    var top: RecordID
    var passed: Set<RecordID>
}

/// Results of earlier lookups.
private struct Known {
    struct Ancestor {
        let parentID: RecordID?
        let hierarchy: Int64?
    }

    var targets: Lookups<RecordID>
    var files: Lookups<FileChecksum>
    /// Records whose chain of parents ends, so that they are in no circle.
    var rooted: Lookups<RecordID>
    private let limit: Int
    private var young: [RecordID: Ancestor] = [:]
    private var old: [RecordID: Ancestor] = [:]

    init(limit: Int) {
        self.limit = limit
        targets = Lookups(limit: limit)
        files = Lookups(limit: limit)
        rooted = Lookups(limit: limit)
    }

    func ancestor(_ recordID: RecordID) -> Ancestor? { young[recordID] ?? old[recordID] }

    /// - Parameter target: the ID with which the record was requested, which may omit the owner of the zone.
    mutating func note(_ record: StoredRecord, as target: RecordID? = nil) {
        let recordID = target ?? record.recordID
        targets.note(recordID, isThere: true)
        young[recordID] = Ancestor(
            parentID: record.parent.map { RecordID(recordName: $0, zoneID: recordID.zoneID) },
            hierarchy: record.sharing?.hierarchy)
    }

    /// Called between pages, so that all lookups of a page are kept.
    mutating func turnPage() {
        targets.turnPage()
        files.turnPage()
        rooted.turnPage()
        if young.count > limit { (old, young) = (young, [:]) }
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

    /// Drops old results, and all misses, which may exist by now.
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

// MARK: - Findings

/// A problem of a record that the server accepts but that causes trouble in apps.
public struct RecordFinding: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The target of a reference does not exist.
        case danglingReference
        /// The parent does not exist.
        case danglingParent
        /// The record is among its own ancestors.
        case parentCircle
        /// A reference leads to another zone.
        case referenceAcrossZones
        /// A field in the public database is encrypted.
        case encryptedInPublic
        /// The fields are close to the size limit of a record.
        case nearSizeLimit
        /// The record has a Core Data type, but `CD_entityName` differs or is missing.
        case entityName
        /// The file of an asset is not stored.
        case missingAsset
        /// The record has no parent, although its zone shares hierarchies that contain records of its type.
        case besideHierarchies
        /// The root of a share is below the root of another one.
        case nestedShare
        /// No user has accepted a share for a day or longer.
        case unacceptedShare
        /// An invitation to a share names no user.
        case unknownAddress
    }

    public var kind: Kind
    public var recordID: RecordID
    public var recordType: Name
    /// The field; `parent` for the record's parent, `nil` if the finding concerns the whole record.
    public var fieldName: Name?
    /// The target of the field.
    public var target: RecordID?
    /// The problem and its consequences, in one or two sentences.
    public var explanation: String

    public init(
        kind: Kind, recordID: RecordID, recordType: Name, fieldName: Name? = nil, target: RecordID? = nil,
        explanation: String
    ) {
        self.kind = kind
        self.recordID = recordID
        self.recordType = recordType
        self.fieldName = fieldName
        self.target = target
        self.explanation = explanation
    }

    /// A sentence about records that were stored unchanged although a save by a client would be refused, because they
    /// came from elsewhere or from an earlier version.
    /// - Parameter count: number of records in the public database with encrypted fields.
    /// - Returns: `nil` if the number is 0.
    public static func encryptedInPublic(_ count: Int) -> String? {
        if count == 0 { return nil }
        return
            "\(count) \(count == 1 ? "record holds" : "records hold") encrypted fields, which CloudKit refuses in the public database; skylight check names them."
    }
}
