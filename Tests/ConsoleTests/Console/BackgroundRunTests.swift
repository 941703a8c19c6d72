import Records
import TestSupport
import Testing

@testable import Console

/// Background work: how it ends, and how much may run.
@Suite struct BackgroundRunTests {
    private static let place: Place? = ContainerID("iCloud.com.example.App").map { container in
        Place(
            address: DatabaseAddress(container: container, environment: .development, scope: .private), user: nil,
            zone: .unspecified)
    }

    private func run(_ total: Int = 1) throws -> BackgroundRun {
        BackgroundRun(
            heading: "Work", verb: "done", total: total, place: try #require(Self.place),
            back: Frame.Link(text: "Back", href: "/"))
    }

    private func outcome(_ run: BackgroundRun) async throws -> BackgroundRun.Outcome? {
        try await eventually { run.isOver }
        return run.now.outcome
    }

    /// Runs until it is cancelled.
    private static let endless: @Sendable (BackgroundRun) async throws -> Void = { run in
        while true {
            run.update { $0.achieved += 1 }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    @Test func aWorkEndsByItselfByAClickOrByAnError() async throws {
        let runs = BackgroundRuns()
        let (done, cancelled, failed) = (try run(), try run(), try run())
        try runs.start(done) { $0.update { $0.achieved = 1 } }
        try runs.start(cancelled, Self.endless)
        try runs.start(failed) { _ in throw RecordError(.quotaExceeded, "The disk is full") }
        #expect(try await outcome(done) == .done && done.now.achieved == 1)
        #expect(try await outcome(failed) == .failed("QUOTA_EXCEEDED: The disk is full"))
        try await eventually { cancelled.now.achieved > 0 }
        #expect(!cancelled.isOver)
        cancelled.cancel()
        #expect(try await outcome(cancelled) == .cancelled && cancelled.now.achieved > 0, "completed changes remain")
    }

    @Test func onlySoManyRunAtATimeAndAreRemembered() async throws {
        let runs = BackgroundRuns()
        let place = try #require(Self.place)
        let under = try (0..<BackgroundRuns.runningLimit).map { _ in try run() }
        for run in under { try runs.start(run, Self.endless) }
        #expect(throws: RecordError.self) { try runs.start(try run()) { _ in } }
        for run in under { run.cancel() }
        for run in under { #expect(try await outcome(run) == .cancelled) }
        var latest: [BackgroundRun] = []
        for _ in 0..<BackgroundRuns.keptLimit {
            latest.append(try run())
            try runs.start(try #require(latest.last)) { _ in }
            _ = try await outcome(try #require(latest.last))
        }
        for run in latest { #expect(try runs.run(run.id, at: place) === run) }
        #expect(throws: RecordError.self) { try runs.run(under[0].id, at: place) }
    }

    @Test func onePlaceIsCheckedOnceAtATime() async throws {
        let runs = BackgroundRuns()
        let place = try #require(Self.place)
        func check() -> BackgroundRun {
            BackgroundRun(
                heading: "Check", verb: "checked", total: 0, place: place, back: Frame.Link(text: "Check", href: "/"),
                check: CheckFindings())
        }
        let (first, second, third) = (check(), check(), check())
        try runs.start(first, Self.endless)
        try runs.start(second, Self.endless)
        #expect(runs.check(of: place) === first, "the second one is not needed")
        let other = try run()
        try runs.start(other, Self.endless)
        #expect(runs.check(of: place) === first, "other jobs are no checks")
        other.cancel()
        first.cancel()
        #expect(try await outcome(first) == .cancelled)
        try runs.start(third) { _ in }
        #expect(try await outcome(third) == .done && runs.check(of: place) === third)
    }

    @Test func problemsAreCountedAndTheFirstAreKept() throws {
        let run = try run()
        for number in 0..<(BackgroundRun.problemLimit + 5) {
            run.add(BackgroundRun.Problem(subject: "record \(number)", href: nil, code: nil, reason: "no"))
        }
        #expect(
            run.now.problemCount == BackgroundRun.problemLimit + 5
                && run.now.problems.count == BackgroundRun.problemLimit)
        #expect(run.now.problems.first?.subject == "record 0")
    }
}
