public import RecordStore
public import Records

/// Copies up to one batch of records to another zone, with the files of their assets. The zone may be in another
/// environment or database, or belong to another user. Copies keep their names and their creation and modification
/// metadata. Copies of shares keep their participants, and get new links.
public struct RecordCopier: Sendable {
    /// The maximum number of records per copy, which is that of a batch.
    public static let recordLimit = BatchModifier.operationLimit
    /// The maximum size of all fields per copy, in bytes.
    public static let sizeLimit = 32 << 20
    /// The maximum size of all asset files per copy, in bytes.
    public static let assetLimit: Int64 = 256 << 20

    /// The rule for records whose names exist at the target.
    public enum Existing: String, Sendable, Hashable, CaseIterable {
        /// Keeps the existing records and skips those of the source.
        case skip
        /// Replaces the existing records, whatever their version.
        case replace
        /// Keeps the existing records and copies nothing: either all records are copied,
        /// or none. Not available for default zones, which have no atomic batches.
        case refuse
    }

    /// The outcome for a record.
    public enum Outcome: Sendable, Hashable {
        case copied, replaced
        /// The target had a record of the same name, which was kept.
        case left
    }

    /// The transports and the intermediate folder for asset files.
    public struct Files: Sendable {
        let source: AssetExchange
        let target: AssetExchange

        /// - Parameter folder: an exclusive folder. It is created on demand, and the caller removes it.
        public init(folder: AssetFileFolder, from source: any AssetTransport, to target: any AssetTransport) {
            self.source = AssetExchange(folder: folder, transport: source)
            self.target = AssetExchange(folder: folder, transport: target)
        }
    }

    private let target: any RecordDatabase
    private let zoneID: ZoneID
    private let existing: Existing
    private let move: ReferenceMove
    private let scopes: (source: DatabaseScope, target: DatabaseScope)

    /// - Parameters:
    ///   - source: the database of the records.
    ///   - sourceZoneID: the zone of the records.
    ///   - zoneID: the target zone, which is created if it is missing.
    public init(
        from source: any RecordDatabase, _ sourceZoneID: ZoneID, to target: any RecordDatabase, _ zoneID: ZoneID,
        existing: Existing
    ) {
        self.target = target
        self.zoneID = zoneID
        self.existing = existing
        scopes = (source.address.scope, target.address.scope)
        move = ReferenceMove(
            from: sourceZoneID, in: source.address.scope, of: source.caller.userRecordName, to: zoneID,
            in: target.address.scope,
            of: target.caller.userRecordName)
    }

    /// Copies the records. Creates a missing zone only if there are records to save.
    ///
    /// Records in a cycle of VALIDATE references are saved as an atomic batch. Default zones have no atomic batches and
    /// refuse them.
    /// - Parameter files: the asset transports; `nil` if no record has assets.
    /// - Returns: the outcome of each record, in order. A record can fail on its own, unless ``Existing/refuse`` makes
    ///   the copy atomic.
    /// - Throws: `RecordError` BAD_REQUEST if ``check(_:into:existing:)`` fails, EXISTS
    ///   if a name is taken and the rule is to refuse, and the errors of the zone.
    public func copy(_ records: [StoredRecord], files: Files?) async throws -> [Result<Outcome, RecordError>] {
        try Self.check(records, into: zoneID, existing: existing)
        let taken = try await taken(records)
        if existing == .refuse, let first = taken.sorted().first {
            let others = taken.count > 1 ? " and \(taken.count - 1) more" : ""
            throw RecordError(.exists, "Nothing was copied: the zone already has the record '\(first)'\(others)")
        }
        var results: [Int: Result<Outcome, RecordError>] = [:]
        var operations: [Int: RecordOperation] = [:]
        var copies: [(index: Int, name: Name, validates: [Name])] = []
        for (index, record) in records.enumerated() {
            if existing == .skip, taken.contains(record.recordID.recordName) {
                results[index] = .success(.left)
                continue
            }
            do {
                if let refusal = Self.refusal(of: record, from: scopes.source, to: scopes.target, zoneID) {
                    throw refusal
                }
                if let files { try await fetch(assetsOf: record, files) }
                let fields = try move.fields(of: record)
                copies.append((index, record.recordID.recordName, move.validated(by: fields)))
                operations[index] = operation(record, fields)
            } catch let error as RecordError {
                results[index] = .failure(error)
            }
        }
        if existing == .refuse, case .failure(let error)? = results.values.first(where: { (try? $0.get()) == nil }) {
            throw error
        }
        if !operations.isEmpty {
            _ = try await target.makeZone(zoneID)
            if let files { operations = try await supplied(operations, records, files, &results) }
            var order = CopyOrder(copies.map { ($0.name, $0.validates) }, there: taken).groups.map { group in
                group.map { copies[$0].index }
            }
            // A share comes after the record that it shares.
            order =
                order.map { $0.filter { operations[$0]?.recordType != Share.recordType } }
                + order.map { $0.filter { operations[$0]?.recordType == Share.recordType } }
            for (index, outcome) in try await save(operations, in: order) {
                results[index] = outcome.map { _ in
                    taken.contains(records[index].recordID.recordName) ? .replaced : .copied
                }
                // Another client created the record in the meantime.
                if existing == .skip, case .failure(let error) = outcome,
                    error.code == .conflict || error.code == .exists
                {
                    results[index] = .success(.left)
                }
            }
        }
        return records.indices.map {
            results[$0] ?? .failure(RecordError(.internalError, "The store did not return a result for the record"))
        }
    }

    /// The error for a record that can never be copied, whatever records the target has.
    public static func refusal(
        of record: StoredRecord, from source: DatabaseScope, to target: DatabaseScope, _ zoneID: ZoneID
    ) -> RecordError? {
        if record.recordType == Schema.usersType { return isOfTheServer }
        let carriesShares = carriesShares(from: source, to: target, zoneID)
        return record.recordType == Share.recordType && !carriesShares ? isShare : nil
    }

    /// True if copies of shares are shares too: only from one private database to another, and not in a default zone.
    static func carriesShares(from source: DatabaseScope, to target: DatabaseScope, _ zoneID: ZoneID) -> Bool {
        source == .private && target == .private && !zoneID.isDefault
    }

    private static let isShare = RecordError(
        .badRequest,
        "Shares are copied only by their owner, from a private database to a custom zone of a private database")
    static let isOfTheServer = RecordError(
        .badRequest, "Records of type Users belong to the server and can't be copied")
    /// The error for a cycle of VALIDATE references in a copy to a default zone.
    public static let isInCircle = RecordError(
        .validatingReferenceError,
        "It and other records refer to each other with VALIDATE, which a default zone can't save; copy them into a custom zone"
    )
    /// The error for records above ``sizeLimit``.
    public static let isTooLarge = RecordError(
        .badRequest, "The records have more than \(sizeLimit >> 20) MB together; copy fewer records, or the zone")

    /// Checks the limits of a copy.
    /// - Parameter zoneID: the target zone.
    /// - Throws: `RecordError` BAD_REQUEST if there are too many records or bytes, or the copy must be atomic in a
    ///   default zone.
    public static func check(_ records: [StoredRecord], into zoneID: ZoneID, existing: Existing) throws {
        if existing == .refuse, zoneID.isDefault {
            throw RecordError(
                .badRequest,
                "A default zone has no atomic batches, so ‘copy nothing’ can't be ensured; skip or replace existing records, or choose another zone"
            )
        }
        if records.count > recordLimit {
            throw RecordError(
                .badRequest,
                "Up to \(recordLimit) records can be copied at once, not \(records.count); copy the zone, or fewer records"
            )
        }
        if records.reduce(0, { $0 + $1.fields.bytes.count }) > sizeLimit { throw isTooLarge }
        let size = try records.flatMap { try $0.fields.assets() }.reduce(Int64(0)) { $0.addingSaturated($1.asset.size) }
        if size > assetLimit {
            throw RecordError(
                .badRequest,
                "The files of the records have more than \(assetLimit >> 20) MB together; copy fewer records, or the zone"
            )
        }
    }

    // MARK: Parts

    /// The names that exist at the target.
    private func taken(_ records: [StoredRecord]) async throws -> Set<Name> {
        do {
            let there = try await target.fetch(
                records.map { RecordID(recordName: $0.recordID.recordName, zoneID: zoneID) }, desiredKeys: [])
            return Set(there.compactMap { try? $0.get().recordID.recordName })
        } catch let error as RecordError where error.code == .zoneNotFound {
            return []
        }
    }

    private func operation(_ record: StoredRecord, _ fields: [Field]) -> RecordOperation {
        RecordOperation(
            restoring: record.recordID.recordName, record.recordType, existing == .replace ? .forceReplace : .create,
            fields: Self.inputs(fields), parent: record.parent, share: record.sharing?.share,
            Provenance(created: record.created, modified: record.modified))
    }

    /// The fields of a copy as a save takes them.
    public static func inputs(_ fields: [Field]) -> [Name: FieldInput] {
        Dictionary(
            fields.map { ($0.name, FieldInput($0.value, isEncrypted: $0.isEncrypted)) },
            uniquingKeysWith: { first, _ in first })
    }

    private func fetch(assetsOf record: StoredRecord, _ files: Files) async throws {
        let assets = try record.fields.assets()
        if assets.isEmpty { return }
        do {
            try files.source.folder.make()
            for (field, asset) in assets {
                guard let checksum = FileChecksum(asset.fileChecksum) else {
                    throw RecordError(.badRequest, "The asset in field '\(field)' has no checksum from Skylight")
                }
                try await files.source.folder.add(checksum, size: asset.size, from: files.source.transport) { _ in }
            }
        } catch let error as AssetFileError {
            throw Self.lacksFiles(error)
        }
    }

    /// The operations with receipts for their assets. Omits operations whose files were refused.
    private func supplied(
        _ operations: [Int: RecordOperation], _ records: [StoredRecord], _ files: Files,
        _ results: inout [Int: Result<Outcome, RecordError>]
    ) async throws -> [Int: RecordOperation] {
        let supplier = AssetSupplier(files.target)
        var supplied: [Int: RecordOperation] = [:]
        for (index, operation) in operations.sorted(by: { $0.key < $1.key }) {
            var batch = SaveBatch(zoneID: zoneID)
            batch.add(operation, size: 0, file: "", line: index)
            do {
                supplied[index] = try await supplier.supply(batch, through: target).first
            } catch {
                let refusal: RecordError
                switch error {
                case let failure as AssetSupplier.Failure: refusal = failure.error
                case let error as AssetFileError: refusal = Self.lacksFiles(error)
                default: throw error
                }
                if existing == .refuse { throw refusal }
                results[index] = .failure(refusal)
            }
        }
        return supplied
    }

    private static func lacksFiles(_ error: AssetFileError) -> RecordError {
        RecordError(.internalError, "The files of the record can't be copied: \(error.reason)")
    }

    /// Saves the groups in order. An atomic copy is one batch. Otherwise each cycle is a batch, and the records between
    /// cycles share batches.
    /// - Returns: the outcomes by operation index.
    private func save(_ operations: [Int: RecordOperation], in order: [[Int]]) async throws -> [Int: Result<
        ModifyOutcome, RecordError
    >] {
        var batches: [(places: [Int], isAtomic: Bool)] = []
        var outcomes: [Int: Result<ModifyOutcome, RecordError>] = [:]
        for group in existing == .refuse ? [order.flatMap(\.self)] : order {
            let places = group.filter { operations[$0] != nil }
            let isAtomic = existing == .refuse || places.count > 1
            if isAtomic, zoneID.isDefault {
                for place in places { outcomes[place] = .failure(Self.isInCircle) }
            } else if !isAtomic, batches.last?.isAtomic == false {
                batches[batches.count - 1].places += places
            } else {
                batches.append((places, isAtomic))
            }
        }
        for batch in batches where !batch.places.isEmpty {
            let results = try await target.modifyOnceFree(
                ModifyRequest(batch.places.compactMap { operations[$0] }, zoneID: zoneID, atomic: batch.isAtomic))
            for (place, result) in zip(batch.places, results) { outcomes[place] = result }
        }
        return outcomes
    }
}

extension RecordOperation {
    /// Saves a record as it was elsewhere, with its creation and modification metadata.
    init(
        restoring recordName: Name, _ recordType: Name, _ kind: Kind, fields: [Name: FieldInput], parent: Name?,
        share: Share?, _ provenance: Provenance
    ) {
        self.init(
            kind, recordName: recordName, recordType: recordType, fields: fields,
            parent: parent.map { .record($0) } ?? .cleared, provenance: provenance)
        if let share { self.share = ShareInput(restoring: share) }
    }
}

// MARK: - Order

/// The order for saving copies one by one, such that the targets of VALIDATE references come first.
///
/// Works recursively, for at most ``RecordCopier/recordLimit`` records.
public struct CopyOrder: Sendable {
    /// The indices of the records, dependencies first. Each group is a single record
    /// or a reference cycle. The records of a cycle can't be saved without each other.
    public private(set) var groups: [[Int]] = []

    private let targets: [[Int]]
    private var numbers: [Int: Int] = [:]
    private var open: [Int] = []

    /// - Parameters:
    ///   - records: the names of the records, with the names that must exist when each one is saved.
    ///   - there: existing names, which are not dependencies.
    public init(_ records: [(name: Name, validates: [Name])], there: Set<Name>) {
        let places = Dictionary(records.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        targets = records.map { record in record.validates.filter { !there.contains($0) }.compactMap { places[$0] } }
        for index in records.indices where numbers[index] == nil { _ = visit(index) }
    }

    /// Tarjan's algorithm for strongly connected components: a component is complete when all its dependencies are.
    /// - Returns: the lowest number of an open node that is reachable from here.
    private mutating func visit(_ index: Int) -> Int {
        let number = numbers.count
        numbers[index] = number
        open.append(index)
        var lowest = number
        for target in targets[index] {
            if let known = numbers[target] {
                if open.contains(target) { lowest = min(lowest, known) }
            } else {
                lowest = min(lowest, visit(target))
            }
        }
        if lowest == number, let start = open.lastIndex(of: index) {
            groups.append(open[start...].sorted())
            open.removeSubrange(start...)
        }
        return lowest
    }
}

// MARK: - References

/// Rewrites references for a copy of their record in another zone. A reference to the source zone or owner becomes one
/// to the target zone or owner.
public struct ReferenceMove: Sendable {
    private let source: ZoneID
    private let sourceScope: DatabaseScope
    private let sourceOwner: Name?
    private let target: ZoneID
    private let targetScope: DatabaseScope
    private let targetOwner: Name

    /// - Parameters:
    ///   - user: the owner of the source database, if known.
    ///   - targetUser: the owner of the target database.
    public init(
        from source: ZoneID, in scope: DatabaseScope, of user: Name?, to target: ZoneID, in targetScope: DatabaseScope,
        of targetUser: Name
    ) {
        self.source = source
        sourceScope = scope
        sourceOwner = scope == .public ? ZoneID.publicOwner : source.ownerRecordName ?? user
        self.target = target
        self.targetScope = targetScope
        targetOwner = targetScope == .public ? ZoneID.publicOwner : target.ownerRecordName ?? targetUser
    }

    /// True if all references stay the same.
    var changesNothing: Bool { source.zoneName == target.zoneName && sourceOwner == targetOwner }

    /// The reference in the copy.
    public func moved(_ reference: Reference) -> Reference {
        guard !changesNothing, let named = reference.zoneID else { return reference }
        // In a shared database, the symbolic names of the current user do not mean the owner of the zone.
        let isSymbolic = sourceScope != .shared && named.ownerRecordName.map(ZoneID.currentOwnerNames.contains) ?? false
        guard isSymbolic || named.ownerRecordName == nil || named.ownerRecordName == sourceOwner else {
            return reference
        }
        var moved = reference
        let zoneName = named.zoneName == source.zoneName ? target.zoneName : named.zoneName
        // A symbolic name also means the owner in the target database. Keeping it makes a later export byte-identical.
        let keepsOwner = named.ownerRecordName == nil || isSymbolic && targetScope != .shared
        moved.zoneID = ZoneID(zoneName: zoneName, ownerRecordName: keepsOwner ? named.ownerRecordName : targetOwner)
        return moved
    }

    /// The fields of the copy.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public func fields(of record: StoredRecord) throws -> [Field] {
        try record.fields.decoded().map { field in
            Field(name: field.name, value: field.value.mappingReferences(moved), isEncrypted: field.isEncrypted)
        }
    }

    /// The records in the copy's own zone that must exist when it is saved.
    /// - Parameter fields: the fields of the copy.
    public func validated(by fields: [Field]) -> [Name] {
        fields.flatMap(\.value.elements).compactMap { value in
            guard case .reference(let reference) = value, reference.action == .validate else { return nil }
            return reference.zoneID.map { $0.zoneName == target.zoneName } ?? true ? reference.recordName : nil
        }
    }
}

extension FieldValue {
    /// The value with every reference transformed.
    func mappingReferences(_ change: (Reference) -> Reference) -> FieldValue {
        switch self {
        case .reference(let reference): .reference(change(reference))
        case .list(let elements, let type): .list(elements.map { $0.mappingReferences(change) }, of: type)
        default: self
        }
    }
}
