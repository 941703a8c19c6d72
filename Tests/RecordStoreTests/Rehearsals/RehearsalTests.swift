import InMemoryRecordStore
import RecordStore
import Records
import StoreScenarios
import Testing

/// Names and counts, and that inactive fault injection changes nothing.
@Suite struct RehearsalTests {
    @Test(arguments: Rehearsal.allCases)
    func everyRehearsalHasNameAndWords(rehearsal: Rehearsal) throws {
        let cue = try RehearsalCue(rehearsal.rawValue)
        #expect(cue.rehearsal == rehearsal)
        #expect(cue.count == (rehearsal.kind == .failure ? 1 : nil))
        #expect(try RehearsalCue(cue.description) == cue)
        for words in [rehearsal.title, rehearsal.effect, rehearsal.advice] { #expect(!words.isEmpty) }
        #expect(rehearsal.effect.hasSuffix(".") && rehearsal.advice.hasSuffix("."))
    }

    @Test(arguments: ["", "nothing", "throttled=", "throttled=x", "throttled=0", "throttled=-1", "throttled=1000001", "pages-of-one=2", "Throttled"])
    func whatIsNoRehearsalIsRefused(text: String) {
        #expect(throws: RecordError.self) { try RehearsalCue(text) }
    }

    @Test func countsCountDown() throws {
        let rehearsals = Rehearsals()
        try rehearsals.start(RehearsalCue("throttled=3"))
        #expect((0..<5).map { _ in rehearsals.take(.throttled) { _ in true } } == [true, true, true, false, false])
        #expect(rehearsals.running.isEmpty)
        try rehearsals.start(RehearsalCue("throttled=3"))
        try rehearsals.start(RehearsalCue("throttled=7"))
        #expect(rehearsals.running.map(\.remaining) == [7])
        #expect(!rehearsals.take(.throttled) { $0 != .everywhere })
    }

    @Test func stoppingIsAsExactAsIsAsked() throws {
        let rehearsals = Rehearsals()
        let area = RehearsalArea(environment: .production)
        for cue in [try RehearsalCue(.pagesOfOne), try RehearsalCue(.conflict)] {
            try rehearsals.start(cue)
            try rehearsals.start(cue, in: area)
        }
        #expect(rehearsals.stop(.pagesOfOne, in: area) == 1)
        #expect(rehearsals.stop(.conflict) == 2)
        #expect(rehearsals.running.map(\.rehearsal) == [.pagesOfOne])
        #expect(rehearsals.stop() == 1 && rehearsals.running.isEmpty)
    }

    @Test func thereIsALimit() throws {
        let rehearsals = Rehearsals()
        for number in 0..<Rehearsals.limit { try rehearsals.start(RehearsalCue(.pagesOfOne), in: RehearsalArea(zoneID: ZoneID(zoneName: "\(number)"))) }
        #expect(throws: RecordError.self) { try rehearsals.start(RehearsalCue(.emptyPages)) }
    }

    /// All promises of the storage interface hold without faults, and with faults elsewhere.
    ///
    /// Query scenarios are left out: they are slow in memory, and queries without faults are forwarded unchanged.
    @Test(arguments: Scenario.modifying + Scenario.following + Scenario.zones)
    func theDoorKeepsItsPromises(scenario: Scenario) async throws {
        let clock = TestClock()
        let rehearsals = Rehearsals(clock: { clock.now() })
        let elsewhere = RehearsalArea(container: ContainerID("iCloud.com.example.Elsewhere"))
        for rehearsal in Rehearsal.allCases where rehearsal.kind != .act { try rehearsals.start(RehearsalCue(rehearsal), in: elsewhere) }
        try await scenario.play(RehearsingEngine(InMemoryRecordEngine(clock: { clock.now() }), rehearsals), clock)
    }

    /// Fault injection claims what stands behind it claims, no more and no less.
    @Test(arguments: [false, true], Scenario.capabilities)
    func theDoorClaimsWhatIsBehindIt(isProtocolOnly: Bool, scenario: Scenario) async throws {
        let clock = TestClock()
        let memory = InMemoryRecordEngine(clock: { clock.now() })
        let base: any RecordEngine = isProtocolOnly ? ProtocolOnlyEngine(memory) : memory
        let door = RehearsingEngine(base, Rehearsals())
        let (behind, before) = (try await base.full(.private), try await door.full(.private))
        #expect(door.capabilities == base.capabilities && before.capabilities == behind.capabilities)
        for capability in Capability.allCases { #expect(door.unable(capability) == base.unable(capability) && before.unable(capability) == behind.unable(capability)) }
        try await scenario.play(door, clock)
    }
}
