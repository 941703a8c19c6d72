internal import Foundation
public import Records

/// The rules of records/modify, shared by all engines: change tag conflicts, merge and replace, just-in-time schema,
/// limits, reference actions, atomic batches.
public struct BatchModifier {
    /// Maximum number of operations per request.
    public static let operationLimit = 200
    /// Maximum size of a record's fields in bytes.
    public static let recordSizeLimit = 1 << 20
    /// Maximum number of records with a DELETE_SELF reference to one target.
    public static let deleteSelfLimit = 750
    /// Maximum number of cascaded deletions in the transaction of a request, so that other saves don't wait long: such
    /// a request takes about as long as three batches. Records that are examined but can't be deleted count in part
    /// (``Cascade/work``).
    public static let cascadeLimit = 400

    private typealias Outcome = Result<ModifyOutcome, RecordError>
    typealias Zone = TransactionZone

    let transaction: any RecordTransaction
    let caller: Caller
    let now: Timestamp
    let database: DatabaseScope
    private let environment: Environment
    let grants: GrantRules
    /// Maximum number of records that a request itself moves between hierarchies. The rest is done after the commit.
    let walkLimit: Int
    /// Remaining work for cascades in this transaction.
    var cascadeRoom: Int
    /// Fields of the version to which a record is reverted. Their files need no upload.
    var formerFields: [Name: Field] = [:]
    /// Checks that concern the whole batch, so that the order of operations does not matter.
    var deferred = DeferredChecks()
    /// True once the request has shared a hierarchy, so that its zone has one even if it had none before.
    var hasBegunHierarchy = false
    /// The last change tags of the records that the request's cascades deleted, by zone.
    var cascaded: [Int64: [Name: String]] = [:]
    /// The records to which the request has given a new change tag, by zone. The response contains these tags, so they
    /// must not change again.
    private var renewed: [Int64: Set<Name>] = [:]
    /// The part of `renewed` that the current operation added. It is removed again if the operation fails.
    private var newlyRenewed: [(zone: Int64, name: Name)] = []
    /// Records that had no children before and are now the parent of a saved record.
    var newParents: [(name: Name, zone: TransactionZone)] = []
    /// A walk through the trees below records whose hierarchy changed.
    var walk = HierarchyWalk()
    var signature: Signature {
        Signature(timestamp: now, userRecordName: caller.userRecordName, deviceID: caller.deviceID)
    }

    /// - Parameter cascadeLimit: maximum number of cascaded deletions in the transaction, and of records moved between
    ///   hierarchies.
    public init(
        _ transaction: any RecordTransaction, address: DatabaseAddress, caller: Caller, now: Timestamp,
        cascadeLimit: Int = Self.cascadeLimit
    ) {
        self.transaction = transaction
        cascadeRoom = cascadeLimit
        walkLimit = cascadeLimit
        database = address.scope
        environment = address.environment
        self.caller = caller
        self.now = now
        grants = GrantRules(address, caller) { try transaction.roleNumbers(of: caller.userRecordName) }
    }

    /// Applies a batch within the engine's open transaction.
    /// - Throws: `RecordError` if the whole request is refused; nothing is applied then.
    public mutating func apply(_ request: ModifyRequest) throws -> [Result<ModifyOutcome, RecordError>] {
        try grants.checkSignedIn()
        if request.operations.count > Self.operationLimit {
            throw RecordError.tooManyItems(in: "operations", request.operations.count, limit: Self.operationLimit)
        }
        let zones = try request.operations.map { operation -> Result<Zone, RecordError> in
            do {
                return .success(try transaction.zone(operation.zoneID ?? request.zoneID))
            } catch let error as RecordError {
                return .failure(error)
            }
        }
        try checkEachRecordOnce(request.operations, zones)
        let isAtomic =
            request.atomic
            && !zones.contains { if case .success(let zone) = $0 { zone.zoneID.isDefault } else { false } }
        return isAtomic ? try applyAtomically(request.operations, zones) : try applyOneByOne(request.operations, zones)
    }

    private mutating func applyOneByOne(_ operations: [RecordOperation], _ zones: [Result<Zone, RecordError>]) throws
        -> [Outcome]
    {
        var outcomes: [Int: Outcome] = [:]
        let keys = zones.map { try? $0.get().key }
        let order = try ParentOrder(of: operations, in: keys) { name, zone in
            do {
                return try transaction.record(named: name, in: zone)?.parent
            } catch is RecordError {
                // Only the operation on a damaged record fails.
                return nil
            }
        }
        for index in order.indices {
            if order.circles.contains(index), let name = operations[index].recordName {
                outcomes[index] = .failure(ParentOrder.cycle(name))
                continue
            }
            outcomes[index] = try attempt { modifier in
                defer { modifier.deferred = DeferredChecks() }
                let outcome = try modifier.apply(operations[index], in: zones[index].get(), at: index)
                if let error = try modifier.abandonments().first?.error { throw error }
                try modifier.renewParents()
                try modifier.finishWalk()
                if let error = try modifier.failures().first?.error { throw error }
                return outcome
            }
        }
        return operations.indices.compactMap { outcomes[$0] }
    }

    private mutating func applyAtomically(
        _ operations: [RecordOperation], _ zones: [Result<Zone, RecordError>]
    ) throws -> [Outcome] {
        var outcomes: [Outcome] = []
        do {
            try transaction.attemptAll {
                for (index, (operation, zone)) in zip(operations, zones).enumerated() {
                    // The changes of a failing operation are rolled back with the whole batch.
                    do {
                        outcomes.append(.success(try apply(operation, in: zone.get(), at: index)))
                    } catch let error as RecordError {
                        outcomes.append(.failure(error))
                    }
                }
                try renewParents()
                try finishWalk()
                for (index, error) in try failures() + abandonments() {
                    if case .failure = outcomes[index] { continue }
                    outcomes[index] = .failure(error)
                }
                let isRefused = outcomes.contains { if case .failure = $0 { true } else { false } }
                if isRefused { throw BatchRefused() }
            }
            return outcomes
        } catch is BatchRefused {
            let others = RecordError(known: .atomicFailure)
            return outcomes.map { outcome in
                if case .success = outcome { .failure(others) } else { outcome }
            }
        }
    }

    /// Runs one operation and rolls it back if it fails.
    /// - Throws: errors of the engine, which make the whole batch fail.
    private mutating func attempt(_ body: (inout Self) throws -> ModifyOutcome) throws -> Outcome {
        let (room, cascaded) = (cascadeRoom, cascaded)
        defer { newlyRenewed.removeAll(keepingCapacity: true) }
        do {
            return .success(try transaction.attempt { try body(&self) })
        } catch let error as RecordError {
            (cascadeRoom, self.cascaded, newParents) = (room, cascaded, [])
            for (zone, name) in newlyRenewed { renewed[zone]?.remove(name) }
            walk = HierarchyWalk()
            return .failure(error)
        }
    }

    /// Notes that a record gets a new change tag.
    /// - Returns: `false` if the request has given it one before.
    @discardableResult
    mutating func renew(_ name: Name, in zone: Int64) -> Bool {
        guard renewed[zone, default: []].insert(name).inserted else { return false }
        newlyRenewed.append((zone, name))
        return true
    }

    private func checkEachRecordOnce(_ operations: [RecordOperation], _ zones: [Result<Zone, RecordError>]) throws {
        var seen: [Int64: Set<Name>] = [:]
        for (operation, zone) in zip(operations, zones) {
            guard let name = operation.recordName, case .success(let zone) = zone else { continue }
            if !seen[zone.key, default: []].insert(name).inserted {
                throw RecordError(
                    .badRequest,
                    "The record '\(name)' appears in two operations of one request; send one operation per record")
            }
        }
    }

    // MARK: One operation

    private mutating func apply(_ operation: RecordOperation, in zone: Zone, at index: Int) throws -> ModifyOutcome {
        if let name = operation.recordName { try NameRules.checkRecordName(name) }
        return operation.kind.isDeletion
            ? try delete(operation, in: zone, at: index) : try save(operation, in: zone, at: index)
    }

    private mutating func save(_ operation: RecordOperation, in zone: Zone, at index: Int) throws -> ModifyOutcome {
        let name = operation.recordName ?? Name(UUID().uuidString)
        let existing = try permitted(
            transaction.record(orUser: name, in: zone, of: database, at: now), by: operation, in: zone)
        try checkGrants(operation, name, existing, in: zone)
        try checkOplock(operation, existing?.recordChangeTag)
        guard let typeName = operation.recordType ?? existing?.recordType else {
            throw RecordError.unexpectedInput(
                "Expected 'recordType' in the record of operation \(operation.kind.rawValue)")
        }
        if let existing, existing.recordType != typeName {
            throw RecordError(
                .badRequest,
                "The record '\(name)' has type '\(existing.recordType)', which can't be changed to '\(typeName)'")
        }
        try operation.provenance?.check()
        try ShareRules.check(operation, type: typeName, in: zone, of: database)
        var justInTime = try JustInTimeType(typeName, transaction.schema.types[typeName], environment: environment)
        let origin: ValueOrigin = operation.provenance == nil && formerFields.isEmpty ? .client(database) : .store
        let (inputs, cleared) = try justInTime.resolve(operation.fields, from: origin)
        if justInTime.hasGrown { try transaction.grow(justInTime.type) }
        let before = Dictionary(
            try existing?.fields.decoded().map { ($0.name, $0) } ?? [], uniquingKeysWith: { first, _ in first })
        let values = try admittingAssets(inputs, replacing: before, in: zone, type: typeName, name: name)
        var fields =
            operation.kind.replacesFields || before.isEmpty
            ? values : before.filter { !cleared.contains($0.key) }.merging(values) { _, new in new }
        for name in grants.closedFields(of: typeName) {
            // Clients send back the fields that they received. A field that they omit or send unchanged remains
            // unchanged.
            let isKept = operation.fields[name] == nil || fields[name]?.value == before[name]?.value
            if !isKept { throw GrantRules.closed(name, of: typeName) }
            fields[name] = before[name]
        }
        for reference in values.values.lazy.flatMap({ $0.value.references }) {
            try NameRules.checkRecordName(reference.recordName)
        }
        if case .record(let parent) = operation.parent {
            try NameRules.checkRecordName(parent)
            if let zoneID = operation.parentZoneID, !zoneID.isSame(as: zone.zoneID) {
                throw RecordError(
                    .badRequest,
                    "The parent '\(parent)' is in the zone '\(zoneID.zoneName)'; a parent is in the zone of its record. Refer to records of other zones with a field"
                )
            }
        }
        let text = FieldsText(Array(fields.values))
        if text.bytes.count > Self.recordSizeLimit {
            throw RecordError(
                .badRequest,
                "The record is too large: its fields have \(text.bytes.count) bytes, and the limit is \(Self.recordSizeLimit) without assets; move large values into assets"
            )
        }
        let signature = signature
        let parent =
            switch operation.parent {
            case .unchanged: operation.kind.replacesFields ? nil : existing?.parent
            case .cleared: nil as Name?
            case .record(let parent): parent
            }
        let sharing = try sharing(after: operation, of: name, typeName, parent: parent, replacing: existing, in: zone)
        let draft = RecordDraft(
            recordID: RecordID(recordName: name, zoneID: zone.zoneID), recordType: typeName,
            created: operation.provenance?.created ?? existing?.created ?? signature,
            modified: operation.provenance?.modified ?? signature, parent: parent, fields: fields, text: text,
            previousFields: before, sharing: sharing)
        if operation.provenance == nil, let parent, parent != existing?.parent, try isNewParent(parent, in: zone) {
            newParents.append((parent, zone))
        }
        let saved = try transaction.save(draft, replacing: existing, in: zone.key)
        renew(name, in: zone.key)
        try followSave(of: saved, replacing: existing, by: operation, in: zone, at: index)
        try checkReferences(
            of: fields.values, replacing: operation.provenance == nil ? before : nil, in: zone, at: index)
        if zone.guest != nil, existing?.sharing?.shareName != nil {
            try checkDependence(of: fields.values, before: before)
        }
        checkPlace(of: saved, replacing: existing, by: operation, in: zone, at: index)
        // A save must not reveal a record that the caller can't read.
        let isReadable = try grants.canRead(saved, transaction.schema)
        return .saved(isReadable ? saved : try saved.keeping(Set(operation.fields.keys)))
    }

    /// Checks that roles let the caller save a record. Runs before any check that would reveal stored data.
    private func checkGrants(_ operation: RecordOperation, _ name: Name, _ existing: StoredRecord?, in zone: Zone)
        throws
    {
        let creates = operation.kind == .create || existing == nil && !operation.kind.checksTag
        if let existing, !creates { return try grants.checkWriting(existing, transaction.schema) }
        // A missing type is reported later.
        guard creates, let typeName = operation.recordType else { return }
        let isUsers = UserRecords.isReserved(name, in: zone.zoneID, of: database)
        // User records are restored with an export like other records.
        if isUsers, typeName == Schema.usersType, operation.provenance != nil, !grants.areAsked { return }
        try grants.checkCreating(typeName, transaction.schema)
        if isUsers, existing == nil {
            throw RecordError(
                .badRequest,
                "Invalid recordName '\(name)': in the public database, _ and 32 hexadecimal digits name users' records; choose another name"
            )
        }
    }

    /// - Parameter present: the change tag of the record; `nil` if the record does not exist.
    func checkOplock(_ operation: RecordOperation, _ present: String?) throws {
        if operation.kind == .create, present != nil { throw RecordError(known: .recordExists) }
        guard operation.kind.checksTag else { return }
        if operation.recordName == nil {
            throw RecordError.unexpectedInput(
                "Expected 'recordName' in the record of operation \(operation.kind.rawValue)")
        }
        guard let present else {
            throw operation.recordChangeTag == nil
                ? .recordNotFound : RecordError(known: .tagOfDeletedRecord)
        }
        guard let tag = operation.recordChangeTag else {
            throw RecordError.unexpectedInput(
                "Expected 'recordChangeTag' in the record of operation \(operation.kind.rawValue); the force operations need none"
            )
        }
        if Name(tag) != Name(present) {
            throw RecordError(known: .staleTag)
        }
    }
}

/// Thrown to roll back an atomic batch.
private struct BatchRefused: Error {}

// MARK: - Reversion

extension BatchModifier {
    /// Saves a record as in one of its journal entries, within the engine's open transaction. Fields added since are
    /// cleared.
    /// - Throws: `RecordError` if the save is refused; nothing is applied then.
    public mutating func revert(to entry: RecordJournalEntry, for reversion: RecordReversion) throws -> StoredRecord {
        let recordID = reversion.recordID
        if entry.kind == .deleted {
            throw RecordError(
                .badRequest,
                "The change at position \(entry.position) deleted the record '\(recordID.recordName)'; restore an earlier version"
            )
        }
        let fields = try entry.fields.decoded()
        formerFields = Dictionary(fields.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        defer { formerFields = [:] }
        let operation = RecordOperation(
            reversion.recordChangeTag == nil ? .create : .replace, recordName: recordID.recordName,
            recordType: entry.recordType,
            recordChangeTag: reversion.recordChangeTag,
            fields: formerFields.mapValues { FieldInput($0.value, isEncrypted: $0.isEncrypted) },
            parent: entry.parent.map { .record($0) } ?? .cleared)
        let outcomes = try apply(ModifyRequest([operation], zoneID: recordID.zoneID))
        guard case .saved(let record)? = try outcomes.first?.get() else {
            throw RecordError(.internalError, "The save was not run")
        }
        return record
    }
}

extension RecordReversion {
    /// The error for a version that is no longer kept.
    /// - Parameter limits: the store's limits.
    public func notKept(_ limits: JournalLimits) -> RecordError {
        RecordError(
            .notFound,
            "No change of the record '\(recordID.recordName)' at position \(position) is kept; \(limits.words)")
    }
}

// MARK: - Order

/// The order of operations in a non-atomic request: as given, except that parents are saved before their children and
/// deleted after them.
struct ParentOrder {
    private struct Place: Hashable {
        let zone: Int64
        let name: Name
    }

    private(set) var indices: [Int] = []
    /// Indices of the saves that would make a record its own ancestor.
    private(set) var circles: Set<Int> = []

    static func cycle(_ name: Name) -> RecordError {
        RecordError(known: .parentCycle, name)
    }

    /// - Parameters:
    ///   - zones: the engine's zone key for each operation; `nil` if the zone does not exist.
    ///   - parent: returns the parent of a stored record by its name and zone.
    init(of operations: [RecordOperation], in zones: [Int64?], parent: (Name, Int64) throws -> Name?) rethrows {
        var (saves, deletions): ([Place: Int], [Place: Int]) = ([:], [:])
        for (index, operation) in operations.enumerated() {
            guard let zone = zones[index], let name = operation.recordName else { continue }
            if operation.kind.isDeletion {
                deletions[Place(zone: zone, name: name)] = index
            } else {
                saves[Place(zone: zone, name: name)] = index
            }
        }
        let savesAbove = operations.indices.map { index -> Int? in
            guard let zone = zones[index], case .record(let parent) = operations[index].parent else { return nil }
            return saves[Place(zone: zone, name: parent)]
        }
        var isTaken = Array(repeating: false, count: operations.count)
        for index in operations.indices where !isTaken[index] {
            // From the operation up to the first ancestor that is not saved in this request or is already placed.
            var line: [Int] = []
            var next: Int? = index
            while let current = next, !isTaken[current] {
                isTaken[current] = true
                line.append(current)
                next = savesAbove[current]
            }
            // Restored records may form a circle, as they did in the copy.
            if let next, let start = line.firstIndex(of: next) {
                circles.formUnion(line[start...].filter { operations[$0].provenance == nil })
            }
            indices += line.reversed()
        }
        // A single deletion needs no order, so its record is not read.
        if deletions.count > 1 { try orderDeletions(deletions, parent) }
    }

    /// Orders the deletions among the places that they have in the request. Records deeper in the tree are deleted
    /// first.
    private mutating func orderDeletions(_ deletions: [Place: Int], _ parent: (Name, Int64) throws -> Name?) rethrows {
        var above: [Int: Int] = [:]
        for (place, index) in deletions {
            if let parent = try parent(place.name, place.zone) {
                above[index] = deletions[Place(zone: place.zone, name: parent)]
            }
        }
        if above.isEmpty { return }
        let deleted = Set(deletions.values)
        let depths = Dictionary(
            uniqueKeysWithValues: deleted.map { index in
                var (depth, next) = (0, above[index])
                // Parents may form a circle.
                while let current = next, depth < deletions.count { (depth, next) = (depth + 1, above[current]) }
                return (index, depth)
            })
        let places = indices.indices.filter { deleted.contains(indices[$0]) }
        let ordered = places.map { indices[$0] }.enumerated().sorted {
            (-(depths[$0.element] ?? 0), $0.offset) < (-(depths[$1.element] ?? 0), $1.offset)
        }
        for (place, index) in zip(places, ordered) { indices[place] = index.element }
    }
}
