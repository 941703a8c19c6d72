import InMemoryRecordStore
import RecordStore
import Records
import StoreScenarios
import Testing

/// Names and counts, and that inactive fault injection changes nothing.
@Suite struct FaultInjectionTests {
    @Test(arguments: InjectedFault.allCases)
    func everyFaultHasNameAndWords(fault: InjectedFault) throws {
        let setting = try FaultSetting(fault.rawValue)
        #expect(setting.fault == fault)
        #expect(setting.count == (fault.kind == .failure ? 1 : nil))
        #expect(try FaultSetting(setting.description) == setting)
        for words in [fault.title, fault.effect, fault.advice] { #expect(!words.isEmpty) }
        #expect(fault.effect.hasSuffix(".") && fault.advice.hasSuffix("."))
    }

    @Test(arguments: [
        "", "nothing", "throttled=", "throttled=x", "throttled=0", "throttled=-1", "throttled=1000001",
        "pages-of-one=2", "Throttled", "throttled;every=2", "throttled;code=CONFLICT",
        "partial-failure;every=0", "partial-failure;every=201", "partial-failure;every=x", "partial-failure;every",
        "partial-failure;code=BAD", "partial-failure;code=",
        "partial-failure;code=ATOMIC_ERROR", "partial-failure;count=2", "partial-failure;", "partial-failure every=2",
    ])
    func whatIsNoFaultIsRefused(text: String) {
        #expect(throws: RecordError.self) { try FaultSetting(text) }
    }

    @Test(arguments: [
        ("partial-failure", 1, 2, FailingItems.Code.conflict), ("partial-failure=3;every=4", 3, 4, .conflict),
        ("partial-failure;code=THROTTLED;every=1", 1, 1, .throttled),
    ])
    func itemsAreChosen(text: String, count: Int, every: Int, code: FailingItems.Code) throws {
        let setting = try FaultSetting(text)
        #expect(setting.count == count && setting.items?.every == every && setting.items?.code == code)
        #expect(try FaultSetting(setting.description) == setting)
    }

    /// The address of a file names a container and an environment alone.
    @Test func filesHaveNoZone() throws {
        let (faults, container) = (FaultInjection(), ContainerID("iCloud.com.example.App"))
        for area in [FaultArea(scope: .private), FaultArea(zoneID: notes)] {
            #expect(throws: RecordError.self) { try faults.start(FaultSetting(.assetGone), in: area) }
        }
        try faults.start(FaultSetting(.assetGone), in: FaultArea(container: container, environment: .development))
        #expect(faults.active.count == 1)
    }

    @Test func countsCountDown() throws {
        let faults = FaultInjection()
        try faults.start(FaultSetting("throttled=3"))
        #expect((0..<5).map { _ in faults.take(.throttled, for: nil) { _ in true }?.remaining } == [3, 2, 1, nil, nil])
        #expect(faults.active.isEmpty)
        try faults.start(FaultSetting("throttled=3"))
        try faults.start(FaultSetting("throttled=7"))
        #expect(faults.active.map(\.remaining) == [7])
        #expect(faults.take(.throttled, for: nil) { $0.area != .everywhere } == nil)
    }

    @Test func stoppingIsAsExactAsIsAsked() throws {
        let faults = FaultInjection()
        let area = FaultArea(environment: .production)
        for setting in [try FaultSetting(.pagesOfOne), try FaultSetting(.conflict)] {
            try faults.start(setting)
            try faults.start(setting, in: area)
        }
        #expect(faults.stop(.pagesOfOne, in: area) == 1)
        #expect(faults.stop(.conflict) == 2)
        #expect(faults.active.map(\.fault) == [.pagesOfOne])
        #expect(faults.stop() == 1 && faults.active.isEmpty)
    }

    /// Requests are of all users.
    @Test func onlyNotificationsAreOfOneUser() throws {
        let faults = FaultInjection()
        for fault in InjectedFault.allCases where fault.kind != .act {
            let isStarted = (try? faults.start(FaultSetting(fault), in: FaultArea(user: "_a"))) != nil
            #expect(isStarted == fault.shapesNotifications)
        }
    }

    /// A client is named by its ID, its name or its user agent. Notifications are of all clients.
    @Test func requestsOfOneClientFail() throws {
        let faults = FaultInjection()
        try faults.start(FaultSetting("throttled=9"), in: FaultArea(client: "Tablet"))
        try faults.start(FaultSetting(.slow), in: FaultArea(client: "Tablet"))
        func affects(_ request: RequestFaults?) -> [Bool] {
            [
                faults.take(.throttled, for: request) { _ in true } != nil,
                faults.isActive(.slow, for: request) { _ in true },
            ]
        }
        #expect(affects(RequestFaults(by: ["1234", "Tablet"])) == [true, true])
        for request in [nil, RequestFaults(), RequestFaults(by: ["Phone", "tablet"])] {
            #expect(affects(request) == [false, false])
        }
        for fault in InjectedFault.allCases where fault.kind != .act {
            let isStarted = (try? faults.start(FaultSetting(fault), in: FaultArea(client: "Phone"))) != nil
            #expect(isStarted != fault.shapesNotifications)
        }
    }

    @Test func aFaultEndsAtItsTime() throws {
        let clock = TestClock()
        let faults = FaultInjection(clock: { clock.now() })
        for minutes in [0, -1, FaultInjection.minutesLimit + 1, .max] {
            #expect(throws: RecordError.self) { try faults.start(FaultSetting(.slow), minutes: minutes) }
        }
        try faults.start(FaultSetting(.conflict))
        try faults.start(FaultSetting(.slow), minutes: 1)
        let end = try #require(faults.active.last?.until)
        #expect(end.milliseconds - (faults.active.last?.since.milliseconds ?? 0) == 60_000)
        clock.advance(59_000)
        #expect(faults.isActive(.slow, for: nil) { _ in true })
        clock.advance(1_000)
        #expect(!faults.isActive(.slow, for: nil) { _ in true })
        #expect(faults.active.map(\.fault) == [.conflict] && faults.stop() == 1)
    }

    @Test func whatEndedIsRemembered() throws {
        let clock = TestClock()
        let faults = FaultInjection(clock: { clock.now() })
        func take(_ fault: InjectedFault) { _ = faults.take(fault, for: nil) { _ in true } }
        try faults.start(FaultSetting("throttled=3"), minutes: 1)
        try faults.start(FaultSetting("conflict=2"))
        try faults.start(FaultSetting(.slow))
        for fault in [InjectedFault.throttled, .conflict] { take(fault) }
        #expect(faults.active.map(\.struck) == [1, 1, 0] && faults.ended.isEmpty)
        take(.conflict)
        clock.advance(61_000)
        let end = clock.now()
        #expect(faults.stop(.slow) == 1)
        let ended = faults.ended
        #expect(ended.map(\.fault.fault) == [.slow, .throttled, .conflict])
        #expect(ended.map(\.cause) == [.stopped, .timeOver, .finished])
        #expect(ended.map(\.fault.struck) == [0, 1, 2])
        // It was over before it was looked at.
        #expect(ended.map { $0.moment < end } == [false, true, true])
        for number in 0..<FaultInjection.endedLimit {
            try faults.start(FaultSetting(.pagesOfOne), in: FaultArea(zoneID: ZoneID(zoneName: "\(number)")))
        }
        faults.stop()
        #expect(faults.ended.count == FaultInjection.endedLimit)
        #expect(faults.ended.allSatisfy { $0.fault.fault == .pagesOfOne })
    }

    @Test func thereIsALimit() throws {
        let faults = FaultInjection()
        for number in 0..<FaultInjection.limit {
            try faults.start(FaultSetting(.pagesOfOne), in: FaultArea(zoneID: ZoneID(zoneName: "\(number)")))
        }
        #expect(throws: RecordError.self) { try faults.start(FaultSetting(.emptyPages)) }
    }

    /// All promises of the storage interface hold without faults, and with faults elsewhere.
    ///
    /// Query scenarios are left out: they are slow in memory, and queries without faults are forwarded unchanged.
    @Test(arguments: Scenario.modifying + Scenario.following + Scenario.zones)
    func theDoorKeepsItsPromises(scenario: Scenario) async throws {
        let clock = TestClock()
        let faults = FaultInjection(clock: { clock.now() })
        let elsewhere = FaultArea(container: ContainerID("iCloud.com.example.Elsewhere"))
        for fault in InjectedFault.allCases where fault.kind != .act {
            try faults.start(FaultSetting(fault), in: elsewhere)
        }
        try await scenario.play(FaultInjectingEngine(InMemoryRecordEngine(clock: { clock.now() }), faults), clock)
    }

    /// Fault injection claims what stands behind it claims, no more and no less.
    @Test(arguments: [false, true], Scenario.capabilities)
    func theDoorClaimsWhatIsBehindIt(isProtocolOnly: Bool, scenario: Scenario) async throws {
        let clock = TestClock()
        let memory = InMemoryRecordEngine(clock: { clock.now() })
        let base: any RecordEngine = isProtocolOnly ? ProtocolOnlyEngine(memory) : memory
        let door = FaultInjectingEngine(base, FaultInjection())
        let (behind, before) = (try await base.full(.private), try await door.full(.private))
        let container = behind.address.container
        #expect(
            try CapabilityScenarios.missing(in: door, container) == CapabilityScenarios.missing(in: base, container))
        let missing = try CapabilityScenarios.missing(in: before)
        #expect(try missing == CapabilityScenarios.missing(in: behind) && missing.isEmpty == !isProtocolOnly)
        #expect(door.unable(to: "x") == base.unable(to: "x") && before.unable(to: "x") == behind.unable(to: "x"))
        try await scenario.play(door, clock)
    }
}
