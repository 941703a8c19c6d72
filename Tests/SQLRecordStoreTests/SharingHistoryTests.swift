import Foundation
import GRDB
import InMemoryRecordStore
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Random histories of a zone with shares. After each step one guest's lookups, query and pulls are compared with
/// ``SharingModel``.
@Suite struct SharingHistoryTests {
    private static let steps = 1000

    @Test(arguments: Chance.seeds(12))
    func inMemory(seed: UInt64) async throws {
        let engine = InMemoryRecordEngine()
        try await play(seed, nil) { engine }
        await engine.close()
    }

    /// Two thirds of the histories move hierarchies in the smallest steps, halfway through which the owner goes on.
    @Test(arguments: Chance.seeds(12))
    func sqlite(seed: UInt64) async throws {
        let folder = try TemporaryFolder()
        let gate = seed % 3 == 0 ? nil : WorkGate()
        var limits = CascadeLimits()
        if let gate {
            limits = CascadeLimits(
                recordsInRequest: Int(seed % 3) - 1, recordsInStep: Int(seed % 3), step: .seconds(600))
            limits.beforeStep = { await gate.wait() }
        }
        try await play(seed, gate) { [limits] in
            try StoreUnderTest.engine(
                folder: folder.url, logLimits: WriteAheadLogLimits(), cascadeLimits: limits, clock: Timestamp.now)
        }
    }

    private func play(_ seed: UInt64, _ gate: WorkGate?, open: @escaping () throws -> any RecordEngine) async throws {
        var history = try await SharingHistory(seed, gate, open: open)
        for step in 0..<Self.steps {
            let problem = try await history.step()
            #expect(problem == nil, "step \(step) of seed \(seed): \(problem ?? "")")
            if problem != nil { break }
        }
        #expect(
            history.refusals < Self.steps / 2 && history.sights > Self.steps / 50,
            "\(history.refusals) refusals, \(history.sights) sights of records")
        await history.end()
    }
}

private struct SharingHistory {
    private static let names: [Name] = (0..<24).map { Name("r\($0)") }
    private static let guests = [grace, mary, Caller(userRecordName: "_beef0000000000000000000000000000")]

    private struct Copy {
        var token: ChangeToken?
        /// Change tags by name.
        var tags: [Name: String] = [:]
    }

    private let open: () throws -> any RecordEngine
    private let gate: WorkGate?
    private var engine: any RecordEngine
    private var owner: any RecordDatabase
    private var random: SeededRandom
    private var model = SharingModel()
    /// The copies of each guest, the latest first, with some from before.
    private var copies: [Name: [Copy]] = [:]
    private var shareCount = 0
    private(set) var refusals = 0
    private(set) var sights = 0

    /// - Parameter gate: holds the background work of the engine; `nil` if it has none.
    init(_ seed: UInt64, _ gate: WorkGate?, open: @escaping () throws -> any RecordEngine) async throws {
        self.open = open
        self.gate = gate
        engine = try open()
        owner = try await engine.withZone()
        try await owner.edit(.addType(RecordType(name: "Item", systemIndexes: [.recordID: .queryable])))
        random = SeededRandom(seed: seed)
    }

    func end() async { await engine.close() }

    private mutating func pick<Values: Collection>(_ values: Values) -> Values.Element? {
        values.randomElement(using: &random)
    }

    /// True once in so many times.
    private mutating func once(in times: Int) -> Bool { Int.random(in: 0..<times, using: &random) == 0 }

    private mutating func anyShare(where condition: (SharingModel.Share) -> Bool = { _ in true }) -> SharingModel.Share?
    {
        pick(model.shares.values.filter(condition).sorted { $0.name < $1.name })
    }

    /// - Returns: the first disagreement with the model.
    mutating func step() async throws -> String? {
        guard let name = pick(Self.names), let guest = pick(Self.guests) else { return nil }
        var problem: String?
        switch Int.random(in: 0..<21, using: &random) {
        case 0..<6: problem = try await move(name)
        case 6..<8:
            // Alone, or with all below it.
            let names = once(in: 2) ? [name] : model.family(of: name)
            let codes = try await owner.outcomes(names.map { RecordOperation(.forceDelete, recordName: $0) }, in: notes)
            let isAllowed = names.count > 1 || model.parents[name] == nil || !isParent(name)
            if codes.allSatisfy({ $0 == nil }) != isAllowed { problem = "deleting \(names): \(codes)" }
            if isAllowed { for name in names { forget(name) } }
        case 8..<10: problem = try await share(once(in: 8) ? nil : name)
        case 10:
            guard let share = anyShare() else { break }
            try await owner.delete(share.name, in: notes)
            model.shares[share.name] = nil
        case 11..<15: problem = try await accept(as: guest)
        case 15: try await leave(as: guest)
        case 16, 17: problem = try await changeShare()
        case 18 where once(in: 8): try await restart()
        case 18 where once(in: 8): try await remakeZone()
        default: problem = try await write(name, as: guest)
        }
        // A token is good as long as the guest sees the zone.
        for guest in Self.guests where !model.isGuest(guest.userRecordName) { copies[guest.userRecordName] = nil }
        if let problem { return problem }
        if gate != nil, !once(in: 3) { return try await excess(of: guest) }
        return try await disagreement(of: guest)
    }

    // MARK: The owner

    private mutating func note(_ name: Name, _ parent: RecordOperation.Parent) {
        switch parent {
        case .unchanged: if model.parents[name] == nil { model.parents[name] = .some(nil) }
        case .cleared: model.parents[name] = .some(nil)
        case .record(let parent): model.parents[name] = .some(parent)
        }
    }

    private func isParent(_ name: Name) -> Bool { model.parents.contains { $0.key != name && $0.value == name } }

    private mutating func forget(_ name: Name) {
        model.parents[name] = nil
        for share in model.shares.values where share.root == name { model.shares[share.name] = nil }
    }

    private mutating func save(
        _ name: Name, _ parent: RecordOperation.Parent, in database: any RecordDatabase, _ zone: ZoneID,
        parentZone: ZoneID? = nil, restores: Bool = false
    ) async throws -> Bool {
        let value = FieldInput(FieldValue.int64(Int64.random(in: 0..<1000, using: &random)))
        var operation = RecordOperation(
            .forceUpdate, recordName: name, recordType: "Item", fields: ["n": value], parent: parent,
            provenance: restores ? SharingStage.provenance : nil)
        operation.parentZoneID = parentZone
        let codes = (try? await database.outcomes([operation], in: zone)) ?? [.zoneNotFound]
        if codes != [nil] { refusals += 1 }
        return codes == [nil]
    }

    private mutating func move(_ name: Name) async throws -> String? {
        let parent: RecordOperation.Parent =
            switch Int.random(in: 0..<15, using: &random) {
            case 0..<3: .unchanged
            case 3..<6: .cleared
            // Nothing is in a hierarchy through the record that holds its share.
            case 6: anyShare().map { .record($0.name) } ?? .cleared
            default: .record(pick(Self.names) ?? name)
            }
        var after = model
        swap(&after, &model)
        note(name, parent)
        swap(&after, &model)
        // What an earlier version accepted comes back with a restored record, and a parent is never in another zone.
        let restores = once(in: 6)
        let parentZone =
            once(in: 10)
            ? ZoneID(zoneName: once(in: 2) ? "Other" : notes.zoneName, ownerRecordName: ada.userRecordName) : nil
        var isAllowed = restores || mayBecome(after, by: name)
        if case .record(let parent) = parent {
            isAllowed =
                isAllowed && (restores || parent == name || model.parents[parent] != nil || model.shares[parent] != nil)
            isAllowed = isAllowed && parentZone.map { $0.zoneName == notes.zoneName } ?? true
        }
        let isDone = try await save(name, parent, in: owner, notes, parentZone: parentZone, restores: restores)
        // Within a hierarchy, no record is restored below itself.
        if isDone != isAllowed, isDone || !(restores && after.isInCircle(name)) {
            return "moving \(name) to \(parent): \(isDone)"
        }
        if isDone { model = after }
        return nil
    }

    /// True unless a save of a record puts it below itself, or a share within another one.
    private func mayBecome(_ after: SharingModel, by name: Name) -> Bool {
        guard let parent = after.parents[name] ?? nil, model.parents[name] != .some(parent) else { return true }
        return !after.isInCircle(name) && !after.isNested(name)
    }

    private mutating func share(_ root: Name?) async throws -> String? {
        shareCount += 1
        let name = root == nil ? Share.zoneWideName : Name("share\(shareCount)")
        var parts: [Name: SharingModel.Part] = [:]
        var participants: [ShareParticipant] = []
        for guest in Self.guests where !once(in: 3) {
            let part = SharingModel.Part(mayWrite: Bool.random(using: &random))
            parts[guest.userRecordName] = part
            participants.append(invitation(guest.userRecordName, part))
        }
        let publicPermission: SharePermission = once(in: 4) ? .readOnly : .none
        var operation = RecordOperation(.create, recordName: name, recordType: Share.recordType)
        operation.share = ShareInput(
            root: root.map { .init(recordName: $0, recordChangeTag: nil) }, publicPermission: publicPermission,
            participants: participants)
        let restores = once(in: 6)
        if restores { operation.provenance = SharingStage.provenance }
        let result = try await owner.modify(ModifyRequest([operation], zoneID: notes))[0]
        var after = model
        after.shares[name] = SharingModel.Share(
            name: name, root: root, link: "", publicPermission: publicPermission, parts: parts)
        let isPossible =
            model.zoneShare == nil
            && (root.map { model.parents[$0] != nil && !model.isRoot($0) && (restores || !after.isNested($0)) }
                ?? model.shares.isEmpty)
        guard case .success(.saved(let record)) = result else { return isPossible ? "sharing \(name): \(result)" : nil }
        if !isPossible { return "shared \(name)" }
        after.shares[name]?.link = record.sharing?.shortGUID ?? ""
        model = after
        return nil
    }

    private static func address(of user: Name) -> String { "\(user)@example.org" }

    private mutating func invitation(_ user: Name, _ part: SharingModel.Part) -> ShareParticipant {
        let lookupInfo =
            once(in: 2)
            ? LookupInfo(userRecordName: user) : LookupInfo(emailAddress: Self.address(of: user).uppercased())
        return ShareParticipant(
            participantID: "", lookupInfo: lookupInfo, role: part.isAdministrator ? .administrator : .user,
            permission: part.mayWrite ? .readWrite : .readOnly)
    }

    private mutating func restart() async throws {
        await engine.close()
        engine = try open()
        owner = try await engine.full(.private)
    }

    private mutating func remakeZone() async throws {
        for operation in [ZoneOperation.delete(notes), .create(notes)] {
            for result in try await owner.modifyZones([operation]) { _ = try result.get() }
        }
        model = SharingModel()
    }

    // MARK: Participants

    private mutating func accept(as guest: Caller) async throws -> String? {
        guard let share = anyShare() else { return nil }
        let user = guest.userRecordName
        let addresses = LookupInfo(emailAddress: Self.address(of: user), userRecordName: user)
        let accepted = try await engine.full(.public, as: guest).require(.shareRecords).accept(
            [share.link], by: addresses)
        let isAccepted = if case .success? = accepted.first { true } else { false }
        if isAccepted != (share.parts[user] != nil || share.publicPermission != .none) {
            return "\(user) accepting \(share.name): \(isAccepted)"
        }
        guard isAccepted else { return nil }
        if share.parts[user] == nil {
            model.shares[share.name]?.parts[user] = SharingModel.Part(mayWrite: false)
            model.shares[share.name]?.parts[user]?.cameByLink = true
        }
        model.shares[share.name]?.parts[user]?.hasAccepted = true
        return nil
    }

    private mutating func leave(as guest: Caller) async throws {
        let user = guest.userRecordName
        guard let share = anyShare(where: { $0.right(of: user) != nil }) else { return }
        try await settle()
        let database = try await engine.full(.shared, as: guest)
        if once(in: 3) {
            for result in try await database.modifyZones([.delete(SharingStage.seen)]) { _ = try result.get() }
            for share in model.shares.values where share.right(of: user) != nil {
                model.shares[share.name]?.parts[user] = nil
            }
        } else {
            try await database.delete(share.name, in: SharingStage.seen)
            model.shares[share.name]?.parts[user] = nil
        }
    }

    /// The owner or a guest gives the participants of a share other rights, leaves some out, invites some, and opens or
    /// closes the link. Only the owner and administrators may.
    private mutating func changeShare() async throws -> String? {
        guard let share = anyShare() else { return nil }
        let guest = pick(Self.guests.filter { share.right(of: $0.userRecordName) != nil })
        let actor = once(in: 2) ? guest : nil
        if actor != nil { try await settle() }
        let (database, zone) =
            if let actor { (try await engine.full(.shared, as: actor), SharingStage.seen) } else { (owner, notes) }
        let part = actor.flatMap { share.parts[$0.userRecordName] }
        let mayManage = part.map { $0.isAdministrator && $0.mayWrite } ?? true
        let record = try await owner.fetch([RecordID(recordName: share.name, zoneID: notes)], desiredKeys: nil)[0].get()
        var after = share
        after.parts = [:]
        // Others change something for sure.
        after.publicPermission =
            mayManage
            ? (once(in: 3) ? pick(SharePermission.allCases) ?? .none : share.publicPermission)
            : share.publicPermission == .none ? .readOnly : .none
        var participants: [ShareParticipant] = []
        var isOfOthers = false
        for var participant in record.sharing?.share?.participants ?? [] where participant.role != .owner {
            if participant.status == .removed {
                // Clients send what they have.
                participants.append(participant)
                continue
            }
            let user =
                participant.userRecordName ?? participant.lookupInfo.userRecordName
                ?? Self.guests.map(\.userRecordName).first {
                    LookupInfo(emailAddress: Self.address(of: $0)).matches(participant.lookupInfo)
                }
            guard let user, var part = share.parts[user] else { return "\(share.name) has \(participant)" }
            if once(in: 4) { continue }
            if !part.cameByLink {
                part.mayWrite = Bool.random(using: &random)
                part.isAdministrator = part.mayWrite && once(in: 2)
                participant.role = part.isAdministrator ? .administrator : .user
                participant.permission = part.mayWrite ? .readWrite : .readOnly
            }
            // Who came by the link has the right of the link.
            if part.cameByLink, once(in: 4) {
                participant.permission = pick(SharePermission.allCases) ?? .none
                if ![.none, share.publicPermission, after.publicPermission].contains(participant.permission) {
                    isOfOthers = true
                }
            }
            if !part.cameByLink || after.publicPermission != .none { after.parts[user] = part }
            participants.append(participant)
        }
        for guest in Self.guests where share.parts[guest.userRecordName] == nil && once(in: 3) {
            let part = SharingModel.Part(mayWrite: Bool.random(using: &random))
            after.parts[guest.userRecordName] = part
            participants.append(invitation(guest.userRecordName, part))
        }
        var operation = RecordOperation(
            .update, recordName: share.name, recordType: Share.recordType, recordChangeTag: record.recordChangeTag)
        operation.share = ShareInput(publicPermission: after.publicPermission, participants: participants)
        let codes = try await database.outcomes([operation], in: zone)
        if codes != (!mayManage ? [.accessDenied] : isOfOthers ? [.badRequest] : [nil]) {
            return "\(actor?.userRecordName ?? "the owner") changing \(share.name): \(codes)"
        }
        if mayManage, !isOfOthers { model.shares[share.name] = after }
        return nil
    }

    /// A guest saves or deletes a record, and may do so exactly if the model says so.
    private mutating func write(_ name: Name, as guest: Caller) async throws -> String? {
        let user = guest.userRecordName
        if !model.isGuest(user) { return nil }
        try await settle()
        let isSeen = model.share(of: name)?.right(of: user) != nil
        let exists = model.parents[name] != nil
        let isWhole = model.zoneShare != nil
        let isRoot = model.isRoot(name)
        let mayWriteSomewhere = model.shares.values.contains { $0.right(of: user) == true }
        let database = try await engine.full(.shared, as: guest)
        if once(in: 4) {
            let codes = try await database.outcomes(
                [RecordOperation(.forceDelete, recordName: name)], in: SharingStage.seen)
            let mayDelete = isSeen ? model.mayWrite(name, user) && !isRoot && !isParent(name) : mayWriteSomewhere
            if (codes == [nil]) != mayDelete { return "\(user) deleting \(name): \(codes)" }
            if isSeen, mayDelete { forget(name) }
            return nil
        }
        guard let parent = pick(Self.names) else { return nil }
        var after = model
        swap(&after, &model)
        note(name, isRoot ? .unchanged : .record(parent))
        swap(&after, &model)
        let isAllowed: Bool
        if isWhole {
            isAllowed = mayWriteSomewhere && model.parents[parent] != nil && mayBecome(after, by: name)
        } else if isRoot {
            isAllowed = isSeen && model.mayWrite(name, user)
        } else {
            // The record itself may be above its new parent.
            isAllowed =
                (!exists || isSeen && model.mayWrite(name, user)) && after.mayWrite(name, user)
                && model.parents[parent] != nil && mayBecome(after, by: name)
        }
        let isDone = try await save(name, isRoot ? .unchanged : .record(parent), in: database, SharingStage.seen)
        if isDone != isAllowed { return "\(user) saving \(name) below \(parent): \(isDone)" }
        if isDone { model = after }
        return nil
    }

    // MARK: Comparison

    private var isSettled: Bool {
        get async throws {
            guard let store = (owner as? SQLDatabase)?.store else { return true }
            return try await store.look { try HierarchyWalkRows.isEmpty($0) }
        }
    }

    /// Lets the background work finish.
    private func settle() async throws {
        guard let gate, try await !isSettled else { return }
        gate.open()
        try await eventually { try await isSettled }
        gate.close()
    }

    /// While records are moved, a guest may see less than the model says, and never more.
    private func excess(of guest: Caller) async throws -> String? {
        let found = try await engine.full(.shared, as: guest).names(
            in: SharingStage.seen, of: Self.names + model.shares.keys)
        let expected = model.visible(to: guest.userRecordName)
        return Set(found).isSubset(of: expected)
            ? nil : "\(guest.userRecordName) finds \(found), not only \(expected.sorted())"
    }

    private mutating func disagreement(of guest: Caller) async throws -> String? {
        try await settle()
        let user = guest.userRecordName
        let expected = model.visible(to: user)
        sights += expected.count
        let database = try await engine.full(.shared, as: guest)
        if try await database.zones().isEmpty != expected.isEmpty {
            return "\(user) and the zone, of which \(expected) is seen"
        }
        if expected.isEmpty { return nil }
        let found = try await database.names(in: SharingStage.seen, of: Self.names + model.shares.keys)
        if Set(found) != expected { return "\(user) finds \(found), not \(expected.sorted())" }
        let queried = try await database.all(Query(recordType: "Item"), in: .zone(SharingStage.seen)).map(
            \.recordID.recordName)
        if Set(queried) != expected.filter({ model.shares[$0] == nil }) || Set(queried).count != queried.count {
            return "\(user) queries \(queried), not \(expected.sorted())"
        }
        let tags = try await owner.fetch(expected.map { RecordID(recordName: $0, zoneID: notes) }, desiredKeys: nil).map
        { try $0.get() }
        // The latest copy, and one from any time before.
        var held = copies[user] ?? [Copy()]
        for before in [held[0], held[Int.random(in: 0..<held.count, using: &random)]] {
            var copy = before
            try await Self.pull(&copy, database)
            if copy.tags != Dictionary(uniqueKeysWithValues: tags.map { ($0.recordID.recordName, $0.recordChangeTag) })
            {
                return "\(user) pulled \(copy.tags), not \(expected.sorted())"
            }
            held[0] = copy
        }
        if held.count < 6 {
            held.append(held[0])
        } else if once(in: 10) {
            held[Int.random(in: 1..<held.count, using: &random)] = held[0]
        }
        copies[user] = held
        return nil
    }

    private static func pull(_ copy: inout Copy, _ database: any RecordDatabase) async throws {
        let (changes, token) = try await database.pull(SharingStage.seen, since: copy.token, pageSize: 3)
        for change in changes {
            copy.tags[change.recordID.recordName] = change.kind == .deleted ? nil : change.record?.recordChangeTag
        }
        copy.token = token
    }
}
