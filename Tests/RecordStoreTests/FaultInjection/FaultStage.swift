import InMemoryRecordStore
import RecordStore
import Records
import StoreScenarios

/// A zone seen through fault injection, and the same zone without it.
struct FaultStage {
    let clock: TestClock
    let faults: FaultInjection
    let engine: InMemoryRecordEngine
    let plain: any RecordDatabase
    let door: any RecordDatabase

    init() async throws {
        let clock = TestClock()
        self.clock = clock
        faults = FaultInjection(clock: { clock.now() })
        engine = InMemoryRecordEngine(clock: { clock.now() })
        plain = try await engine.withZone()
        door = try await FaultInjectingEngine(engine, faults).full(.private)
    }

    /// A database for a request that asks for faults itself.
    func door(_ scope: RequestFaults) async throws -> any RecordDatabase {
        try await RequestFaults.$current.withValue(scope) {
            try await FaultInjectingEngine(engine, faults).full(.private)
        }
    }

    func start(_ faults: InjectedFault..., in area: FaultArea = .everywhere) throws {
        for fault in faults { try self.faults.start(FaultSetting(fault), in: area) }
    }

    /// Begins pulls with children first, and continues none.
    func beginPulls(_ count: Int) async throws {
        for _ in 0..<count {
            _ = try await door(RequestFaults(asking: [.childrenFirst])).zoneChanges(
                ZoneChangesRequest(notes, limit: PageLimit(records: 1)))
        }
    }

    /// A chat: rooms whose last message is their child, messages with a parent, replies that are deleted
    /// with their message, plain references to people. Every tenth room is saved again at the end.
    func fillWithChat(rooms: Int, messages: Int) async throws {
        func reference(_ name: Name, _ action: Reference.Action) -> FieldValue {
            .reference(Reference(recordName: name, action: action))
        }
        try await plain.save("Person/ada", type: "Person", in: notes)
        for room in 0..<rooms {
            try await plain.save("Room/\(room)", type: "Room", in: notes, ["owner": reference("Person/ada", .validate)])
            for message in 0..<messages {
                var fields: [Name: FieldValue] = ["author": reference("Person/ada", .none)]
                if message > 0 { fields["replyTo"] = reference("Message/\(room).\(message - 1)", .deleteSelf) }
                try await plain.save(
                    "Message/\(room).\(message)", type: "Message", in: notes, fields, parent: .record("Room/\(room)"))
            }
            // A cycle: the room refers to its own child.
            try await plain.save(
                "Room/\(room)", type: "Room", in: notes, ["last": reference("Message/\(room).\(messages - 1)", .none)])
            if room % 10 == 9 { try await plain.delete("Message/\(room).\(messages - 1)", in: notes) }
        }
    }
}

extension RecordDatabase {
    /// The pages of a pull, up to a limit.
    func pages(since token: ChangeToken? = nil, pageSize: Int = 200, limit: Int = 10_000) async throws
        -> [ZoneChangesPage]
    {
        var pages: [ZoneChangesPage] = []
        repeat {
            pages.append(
                try await zoneChanges(
                    ZoneChangesRequest(
                        notes, since: pages.last?.syncToken ?? token, limit: PageLimit(records: pageSize))))
        } while pages.last?.moreComing == true && pages.count < limit
        return pages
    }
}

extension RecordChange {
    var name: Name { recordID.recordName }
}
