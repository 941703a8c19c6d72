import CloudKitClient
import LoopbackServing
import Records
import SkylightTesting
import Synchronization
import TestSupport
import Testing

@testable import RemoteRecords

/// Order, dependencies, patience, and cancellation at any moment.
@Suite struct SchedulingTests {
    private static let noZones = ScriptedServer.Reply.json(#"{"zones":[]}"#)
    /// Never sent.
    private static let held = noZones.after(requests: .max)

    @Test func urgentRequestsComeFirst() async throws {
        let scheduler = RequestScheduler(limit: 1)
        let callbacks = CallbackLog()
        let ranks: [(String, RequestScheduler.Rank)] = [
            ("background", scheduler.rank(.background, .veryHigh)), ("utility", scheduler.rank(.utility, .normal)),
            ("second utility", scheduler.rank(.utility, .normal)), ("urgent utility", scheduler.rank(.utility, .high)),
            ("waited for", scheduler.rank(.userInitiated, .veryLow)),
            ("at once", scheduler.rank(.userInteractive, .normal)),
        ]
        try await withThrowingTaskGroup(of: Void.self) { group in
            let first = scheduler.rank(.background, .normal)
            try await scheduler.run(first) {
                for (name, rank) in ranks { group.addTask { try await scheduler.run(rank) { callbacks.note(name) } } }
                try await eventually { scheduler.waitingCount == ranks.count }
            }
            try await group.waitForAll()
        }
        #expect(
            callbacks.all == ["at once", "waited for", "urgent utility", "utility", "second utility", "background"])
    }

    /// There is a place for a request that a user waits for, however many are under way in the background.
    @Test func discretionaryRequestsLeaveAPlace() async throws {
        let scheduler = RequestScheduler(limit: 3)
        let callbacks = CallbackLog()
        try await withThrowingTaskGroup(of: Void.self) { group in
            let gates = (0..<3).map { _ in AsyncStream.makeStream(of: Void.self) }
            for (number, gate) in gates.enumerated() {
                let rank = scheduler.rank(.utility, .normal)
                group.addTask {
                    try await scheduler.run(rank) {
                        callbacks.note("utility \(number)")
                        for await _ in gate.stream {}
                    }
                }
            }
            try await eventually { callbacks.all.count == 2 && scheduler.waitingCount == 1 }
            try await scheduler.run(scheduler.rank(.userInitiated, .normal)) { callbacks.note("waited for") }
            #expect(callbacks.all.last == "waited for")
            for gate in gates { gate.continuation.finish() }
            try await group.waitForAll()
        }
        #expect(callbacks.all.count == 4)
    }

    @Test func operationsWaitForOthersThatFailToo() async throws {
        let refused = ScriptedServer.Reply.error("ACCESS_DENIED", status: 403)
        try await withScript({ request, number in number == 0 ? refused : Self.noZones }) { container, server in
            let database = container.privateCloudDatabase
            let callbacks = CallbackLog()
            let first = database.add(FetchRecordZones([zone]))
            let second = database.add(FetchRecordZones(), after: [first]) { _ in callbacks.note("never") }
            try await second.value
            #expect(
                server.requests.map { $0.path.hasSuffix("zones/lookup") } == [true, false] && callbacks.all.isEmpty)
            guard case .failure(let error) = await first.result else {
                Issue.record("the first operation succeeded")
                return
            }
            #expect(error.code == .permissionFailure)
        }
    }

    @Test func discretionaryOperationsWaitForTheNetwork() async throws {
        let clock = VirtualClock()
        try await withScript(clock: clock, { _, number in number < 16 ? .close : Self.noZones }) { container, server in
            let patient = container.privateCloudDatabase.configured(
                OperationConfiguration(timeoutIntervalForRequest: .seconds(30)))
            try await patient.perform(FetchRecordZones())
            // One pause after each failure, of the request or of the operation.
            #expect(server.requests.count == 17 && clock.pauses.count == 16)
        }
        try await withAnswers(.close) { container, _ in
            let waited = container.privateCloudDatabase.configured(
                OperationConfiguration(qualityOfService: .userInitiated, timeoutIntervalForRequest: .seconds(30)))
            let error = await operationError { try await waited.perform(FetchRecordZones()) }
            #expect(error?.code == .networkFailure)
        }
    }

    @Test func theNetworkIsWaitedForAWeek() async throws {
        let clock = VirtualClock()
        try await withAnswers(.close, clock: clock) { container, _ in
            // One attempt for each pause of the operation.
            let patient = container.privateCloudDatabase.configured(
                OperationConfiguration(timeoutIntervalForRequest: .seconds(1)))
            let error = await operationError { try await patient.perform(FetchRecordZones()) }
            let waited = clock.pauses.reduce(.zero, +)
            #expect(error?.code == .networkFailure && waited <= .seconds(604_800) && waited >= .seconds(604_800 - 300))
        }
    }

    @Test func callbacksComeOneAtATime() async throws {
        let names = (0..<5).map { "r\($0)" }
        try await withAnswers(
            .json(#"{"records":[\#(names.map { "{\(item($0, tag: "1"))}" }.joined(separator: ","))]}"#)
        ) { container, _ in
            let running = Mutex(0)
            let callbacks = CallbackLog()
            let fetch = FetchRecords(names.map { RecordID(recordName: $0, zoneID: zone) })
            try await container.privateCloudDatabase.perform(fetch) { _ in
                let others = running.withLock { running in
                    running += 1
                    return running - 1
                }
                try? await Task.sleep(for: .milliseconds(1))
                running.withLock { $0 -= 1 }
                callbacks.note("\(others)")
            }
            #expect(callbacks.all == Array(repeating: "0", count: 5))
        }
    }

    @Test func aGroupConfiguresItsOperations() {
        let group = OperationGroup(
            name: "sync",
            defaultConfiguration: OperationConfiguration(qualityOfService: .background, queuePriority: .low))
        let settings = OperationConfiguration(qualityOfService: .userInteractive).or(group.defaultConfiguration)
        #expect(
            settings.qualityOfService == .userInteractive && settings.queuePriority == .low
                && settings.timeoutIntervalForRequest == nil)
    }

    // MARK: Cancellation

    @Test func aReadIsCancelledWhileItWaitsForItsAnswer() async throws {
        try await withAnswers(Self.held) { container, server in
            let handle = container.privateCloudDatabase.add(FetchRecordZones())
            try await eventually { server.requests.count == 1 }
            handle.cancel()
            #expect(await handle.result.error?.code == .operationCancelled)
        }
    }

    @Test func anOperationIsCancelledBeforeItsTurn() async throws {
        try await withScript(requestsAtOnce: 1, { _, _ in Self.held }) { container, server in
            let database = container.privateCloudDatabase
            let first = database.add(FetchRecordZones())
            try await eventually { server.requests.count == 1 }
            let second = database.add(FetchRecordZones())
            let third = database.add(FetchRecordZones(), after: [second, first])
            try await eventually { container.scheduler.waitingCount == 1 }
            third.cancel()
            #expect(await third.result.error?.code == .operationCancelled)
            second.cancel()
            #expect(await second.result.error?.code == .operationCancelled)
            first.cancel()
            #expect(await first.result.error?.code == .operationCancelled)
            #expect(server.requests.count == 1 && container.scheduler.waitingCount == 0)
        }
    }

    /// The change may have arrived, and callers must know that.
    @Test func aSaveThatIsCancelledOnItsWayIsNotKnown() async throws {
        try await withAnswers(Self.held) { container, server in
            let callbacks = CallbackLog()
            let handle = container.privateCloudDatabase.add(ModifyRecords(saving: [try edited("a", tag: "1")])) {
                callbacks.note($0.words)
            }
            try await eventually { server.requests.count == 1 }
            handle.cancel()
            #expect(await handle.result.error?.code == .operationCancelled)
            #expect(callbacks.all == ["progress a 1.0", "saved a: serverResponseLost"])
        }
    }

    @Test func aCallIsCancelledWithItsTask() async throws {
        try await withAnswers(Self.held) { container, server in
            let database = container.privateCloudDatabase
            let task = Task { await operationError { _ = try await database.allRecordZones() } }
            try await eventually { server.requests.count == 1 }
            task.cancel()
            #expect(await task.value?.code == .operationCancelled)
        }
    }

    @Test func leavingALoopEndsTheOperation() async throws {
        try await withScript({ request, number in
            if request.path.hasSuffix("zones/list") { return Self.noZones }
            return .json(
                #"{"zones":[{"zoneID":{"zoneName":"Items"},"records":[{\#(item("r\(number)", tag: "1"))}],"syncToken":"t\#(number)","moreComing":true}]}"#
            )
        }) { container, server in
            let database = container.privateCloudDatabase
            var names: [Name] = []
            for try await event in database.events(of: FetchRecordZoneChanges([ZonePull(zone)])) {
                if case .changed(let recordID?, _) = event { names.append(recordID.recordName) }
                if names.count == 3 { break }
            }
            #expect(names == ["r0", "r1", "r2"])
            // At most the request that was under way came after it.
            let count = server.requests.count
            #expect(count <= 4)
            // An operation that went on would send many more between these.
            let others = 20
            for _ in 0..<others { _ = try await database.allRecordZones() }
            #expect(server.requests.count <= count + 1 + others)
        }
    }

    /// A token must not come without the changes before it, whenever the task is cancelled.
    @Test(arguments: [1, 50, 100]) func aCancelledLoopMissesNoEvent(cancelledAt: Int) async throws {
        let changes = (1...100).map { "{\(item("r\($0)", tag: "1"))}" }.joined(separator: ",")
        let page =
            #"{"zones":[{"zoneID":{"zoneName":"Items"},"records":[\#(changes)],"syncToken":"t1","moreComing":true}]}"#
        try await withAnswers(.json(page)) { container, server in
            let database = container.privateCloudDatabase
            let callbacks = CallbackLog()
            let error = await Task {
                await operationError {
                    for try await event in database.events(of: FetchRecordZoneChanges([ZonePull(zone)])) {
                        if case .changed(let recordID?, _) = event { callbacks.note(recordID.recordName.string) }
                        if case .tokenUpdated = event { callbacks.note("token") }
                        if callbacks.all.count == cancelledAt { withUnsafeCurrentTask { $0?.cancel() } }
                    }
                }
            }.value
            #expect(callbacks.all == (1...100).map { "r\($0)" } + ["token"])
            #expect(error?.code == .operationCancelled && server.requests.count == 1)
        }
    }

    /// A loop that ends without an error has reported every record.
    @Test func aCancelledLoopReportsWhatWasSaved() async throws {
        let names = (1...9).map { "r\($0)" }
        try await withAnswers(
            .json(#"{"records":[\#(names.map { "{\(item($0, tag: "2"))}" }.joined(separator: ","))]}"#)
        ) { container, _ in
            let changes = ModifyRecords(saving: try names.map { try edited($0, tag: "1") })
            let database = container.privateCloudDatabase
            let callbacks = CallbackLog()
            try await Task {
                for try await event in database.events(of: changes) {
                    guard case .saved = event else { continue }
                    callbacks.note(event.words)
                    withUnsafeCurrentTask { $0?.cancel() }
                }
            }.value
            #expect(callbacks.all == names.map { "saved \($0)" })
        }
    }

    @Test func aLoopEndsWithTheErrorOfItsOperation() async throws {
        try await withAnswers(.error("ZONE_NOT_FOUND", status: 404)) { container, _ in
            let error = await operationError {
                for try await _ in container.privateCloudDatabase.events(of: FetchRecordZoneChanges([ZonePull(zone)])) {
                }
            }
            #expect(error?.code == .zoneNotFound)
        }
    }

    /// The end comes while somebody begins to wait for the next event. In one of many rounds it comes at the worst
    /// moment.
    @Test(.timeLimit(.minutes(10))) func theEndReachesLateWaiters() async throws {
        for _ in 0..<20_000 {
            let exchange = Exchange<Int>()
            async let event = exchange.take()
            exchange.finish()
            #expect(await event == nil)
        }
    }

    /// A callback may wait for an operation of its own, however few requests there may be at once.
    @Test func callbacksMayWaitForOperations() async throws {
        try await withScript(requestsAtOnce: 1, { _, _ in .json(#"{"zones":[{"zoneID":{"zoneName":"Items"}}]}"#) }) {
            container, server in
            let database = container.privateCloudDatabase
            let callbacks = CallbackLog()
            try await database.perform(FetchRecordZones()) { _ in
                let zones = try? await database.allRecordZones()
                callbacks.note("\(zones?.count ?? 0)")
            }
            #expect(callbacks.all == ["1"] && server.requests.count == 2)
        }
    }
}

extension Result {
    fileprivate var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
