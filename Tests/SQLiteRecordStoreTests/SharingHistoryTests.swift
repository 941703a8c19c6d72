import Foundation
import InMemoryRecordStore
import JSON
import RecordStore
import Records
import SQLiteRecordStore
import StoreScenarios
import TestSupport
import Testing

/// Random histories of a zone with shares. After each step one guest's lookups and pull are compared with ``SharingModel``.
/// Set `SKYLIGHT_SHARING_STEPS` for longer ones.
@Suite struct SharingHistoryTests {
    private static let steps = ProcessInfo.processInfo.environment["SKYLIGHT_SHARING_STEPS"].flatMap { Int($0) } ?? 1500

    @Test(arguments: [1, 2, 3] as [UInt64])
    func inMemory(seed: UInt64) async throws {
        try await play(on: InMemoryRecordEngine(), seed)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func sqlite(seed: UInt64) async throws {
        let folder = try TemporaryFolder()
        try await play(on: SQLiteRecordEngine(folder: folder.url), seed)
    }

    private func play(on engine: any RecordEngine, _ seed: UInt64) async throws {
        var history = try await SharingHistory(on: engine, seed)
        for step in 0..<Self.steps {
            let problem = try await history.step()
            #expect(problem == nil, "step \(step) of seed \(seed): \(problem ?? "")")
            if problem != nil { break }
        }
        #expect(history.refusals < Self.steps / 2 && history.sights > Self.steps / 10, "\(history.refusals) refusals, \(history.sights) sights of records")
        await engine.close()
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

    private let engine: any RecordEngine
    private let owner: any RecordDatabase
    private var random: SeededRandom
    private var model = SharingModel()
    private var copies: [Name: Copy] = [:]
    private var shareCount = 0
    private(set) var refusals = 0
    private(set) var sights = 0

    init(on engine: any RecordEngine, _ seed: UInt64) async throws {
        self.engine = engine
        owner = try await engine.withZone()
        random = SeededRandom(seed: seed)
    }

    private mutating func pick<Values: Collection>(_ values: Values) -> Values.Element? { values.randomElement(using: &random) }

    /// - Returns: the first disagreement with the model.
    mutating func step() async throws -> String? {
        guard let name = pick(Self.names), let guest = pick(Self.guests) else { return nil }
        let user = guest.userRecordName
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<6:
            let parent: RecordOperation.Parent =
                switch Int.random(in: 0..<5, using: &random) {
                case 0: .unchanged
                case 1: .cleared
                default: .record(pick(Self.names) ?? name)
                }
            if try await save(name, parent, in: owner, notes) { note(name, parent) }
        case 6..<8:
            try await owner.delete(name, in: notes)
            forget(name)
        case 8..<10: if let problem = try await share(name) { return problem }
        case 10:
            guard let share = pick(model.shares.values.sorted { $0.name < $1.name }) else { break }
            try await owner.delete(share.name, in: notes)
            model.shares[share.name] = nil
        case 11..<15:
            guard let share = pick(model.shares.values.sorted { $0.name < $1.name }) else { break }
            let accepted = try await engine.full(.public, as: guest).accept([share.link], by: LookupInfo(userRecordName: user))
            let isAccepted = if case .success? = accepted.first { true } else { false }
            if isAccepted != (share.invited[user] != nil || share.guests[user] != nil) { return "\(user) accepting \(share.name): \(isAccepted)" }
            if let right = share.invited[user] {
                model.shares[share.name]?.invited[user] = nil
                model.shares[share.name]?.guests[user] = right
            }
        case 15:
            guard let share = pick(model.shares.values.filter({ $0.guests[user] != nil }).sorted { $0.name < $1.name }) else { break }
            try await engine.full(.shared, as: guest).delete(share.name, in: SharingStage.seen)
            model.shares[share.name]?.guests[user] = nil
        case 16: if let problem = try await changeRights() { return problem }
        default: if let problem = try await write(name, as: guest) { return problem }
        }
        return try await disagreement(of: guest)
    }

    private mutating func note(_ name: Name, _ parent: RecordOperation.Parent) {
        switch parent {
        case .unchanged: if model.parents[name] == nil { model.parents[name] = .some(nil) }
        case .cleared: model.parents[name] = .some(nil)
        case .record(let parent): model.parents[name] = .some(parent)
        }
    }

    private mutating func forget(_ name: Name) {
        model.parents[name] = nil
        for share in model.shares.values where share.root == name { model.shares[share.name] = nil }
    }

    private mutating func save(_ name: Name, _ parent: RecordOperation.Parent, in database: any RecordDatabase, _ zone: ZoneID) async throws -> Bool {
        let value = FieldInput(FieldValue.int64(Int64.random(in: 0..<1000, using: &random)))
        let operation = RecordOperation(.forceUpdate, recordName: name, recordType: "Item", fields: ["n": value], parent: parent)
        let codes = (try? await database.outcomes([operation], in: zone)) ?? [.zoneNotFound]
        if codes != [nil] { refusals += 1 }
        return codes == [nil]
    }

    private mutating func share(_ root: Name) async throws -> String? {
        shareCount += 1
        let name = Name("share\(shareCount)")
        let invited = Dictionary(
            uniqueKeysWithValues: Self.guests.compactMap { guest in
                let choice = Int.random(in: 0..<3, using: &random)
                return choice == 0 ? nil : (guest.userRecordName, choice == 1)
            })
        var operation = RecordOperation(.create, recordName: name, recordType: Share.recordType)
        operation.share = ShareInput(
            root: .init(recordName: root, recordChangeTag: nil), participants: invited.sorted { $0.key < $1.key }.map { participant($0.key, $0.value) })
        let result = try await owner.modify(ModifyRequest([operation], zoneID: notes))[0]
        let isPossible = model.parents[root] != nil && !model.shares.values.contains { $0.root == root }
        guard case .success(.saved(let record)) = result else { return isPossible ? "sharing \(root): \(result)" : nil }
        if !isPossible { return "shared \(root)" }
        model.shares[name] = SharingModel.Share(name: name, root: root, link: record.sharing?.shortGUID ?? "", invited: invited)
        return nil
    }

    private func participant(_ user: Name, _ mayWrite: Bool) -> ShareParticipant {
        ShareParticipant(
            participantID: "for \(user)", lookupInfo: LookupInfo(userRecordName: user), permission: mayWrite ? .readWrite : .readOnly)
    }

    /// Gives the participants of a share other rights, and leaves some out.
    private mutating func changeRights() async throws -> String? {
        guard let share = pick(model.shares.values.sorted { $0.name < $1.name }) else { return nil }
        let record = try await owner.fetch([RecordID(recordName: share.name, zoneID: notes)], desiredKeys: nil)[0].get()
        var participants: [ShareParticipant] = []
        model.shares[share.name]?.guests = [:]
        model.shares[share.name]?.invited = [:]
        for var participant in record.sharing?.share?.participants ?? [] where participant.role != .owner && participant.status != .removed {
            guard let user = participant.lookupInfo.userRecordName, Int.random(in: 0..<4, using: &random) > 0 else { continue }
            let mayWrite = Bool.random(using: &random)
            participant.permission = mayWrite ? .readWrite : .readOnly
            participants.append(participant)
            if participant.status == .accepted { model.shares[share.name]?.guests[user] = mayWrite } else { model.shares[share.name]?.invited[user] = mayWrite }
        }
        var operation = RecordOperation(.update, recordName: share.name, recordType: Share.recordType, recordChangeTag: record.recordChangeTag)
        operation.share.participants = participants
        let codes = try await owner.outcomes([operation], in: notes)
        return codes == [nil] ? nil : "changing \(share.name): \(codes)"
    }

    /// A guest saves or deletes a record, and may do so exactly if the model says so.
    private mutating func write(_ name: Name, as guest: Caller) async throws -> String? {
        let user = guest.userRecordName
        let isSeen = model.share(of: name)?.guests[user] != nil
        let exists = model.parents[name] != nil
        let database = try await engine.full(.shared, as: guest)
        if model.visible(to: user).isEmpty { return nil }
        if Int.random(in: 0..<4, using: &random) == 0 {
            let codes = try await database.outcomes([RecordOperation(.forceDelete, recordName: name)], in: SharingStage.seen)
            let isRoot = model.shares.values.contains { $0.root == name }
            let mayDelete = isSeen ? model.mayWrite(name, user) && !isRoot : model.shares.values.contains { $0.guests[user] == true }
            if (codes == [nil]) != mayDelete { return "\(user) deleting \(name): \(codes)" }
            if isSeen, mayDelete { forget(name) }
            return nil
        }
        guard let parent = pick(Self.names) else { return nil }
        let isRoot = model.shares.values.contains { $0.root == name }
        var after = model
        note(name, isRoot ? .unchanged : .record(parent))
        swap(&after, &model)
        // The record itself may be above its new parent.
        let isCircle = after.share(of: name) == nil
        let mayWrite = (!exists || isSeen && model.mayWrite(name, user)) && !isCircle && after.mayWrite(name, user) && model.parents[parent] != nil
        let isDone = try await save(name, isRoot ? .unchanged : .record(parent), in: database, SharingStage.seen)
        let isAllowed = isRoot ? isSeen && model.mayWrite(name, user) : mayWrite
        if isDone != isAllowed { return "\(user) saving \(name) below \(parent): \(isDone)" }
        if isDone { model = after }
        return nil
    }

    // MARK: Comparison

    private mutating func disagreement(of guest: Caller) async throws -> String? {
        let user = guest.userRecordName
        let expected = model.visible(to: user)
        sights += expected.count
        let database = try await engine.full(.shared, as: guest)
        if try await database.zones().isEmpty != expected.isEmpty { return "\(user) and the zone, of which \(expected) is seen" }
        if expected.isEmpty {
            copies[user] = nil
            return nil
        }
        let candidates = Self.names + model.shares.keys.sorted()
        let found = try await database.names(in: SharingStage.seen, of: candidates)
        if Set(found) != expected { return "\(user) finds \(found), not \(expected.sorted())" }
        var copy = copies[user] ?? Copy()
        do {
            try await Self.pull(&copy, database)
        } catch let error as RecordError where error.reason == "client knowledge differs from server knowledge" {
            copy = Copy()
            try await Self.pull(&copy, database)
        }
        copies[user] = copy
        if Set(copy.tags.keys) != expected { return "\(user) pulled \(copy.tags.keys.sorted()), not \(expected.sorted())" }
        for result in try await owner.fetch(expected.map { RecordID(recordName: $0, zoneID: notes) }, desiredKeys: nil) {
            let record = try result.get()
            if copy.tags[record.recordID.recordName] != record.recordChangeTag { return "\(user) has an old version of \(record.recordID.recordName)" }
        }
        return nil
    }

    private static func pull(_ copy: inout Copy, _ database: any RecordDatabase) async throws {
        let (changes, token) = try await database.pull(SharingStage.seen, since: copy.token, pageSize: 3)
        for change in changes { copy.tags[change.recordID.recordName] = change.kind == .deleted ? nil : change.record?.recordChangeTag }
        copy.token = token
    }
}
