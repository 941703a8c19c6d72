import LoopbackServing
import Records
import Synchronization
import Testing

@testable import CloudKitClient

/// Which requests are sent again, when, and what the caller learns.
@Suite struct RetryTests {
    // MARK: Pauses

    @Test(
        arguments: [
            (nil, 1000, 0.0, [0.25, 0.5, 1, 2, 4, 8, 15, 15]), (nil, 1000, 0.999_999_9, [0.5, 1, 2, 4, 8, 16, 30, 30]),
            (30, 1000, 0, [30, 30, 30]),
            (30, 1000, 0.5, [33.75, 33.75]), (0, 1000, 0, [0.25, 0.5]), (110_207, 1000, 0, [300, 300]),
            (110_207, 300, 0, []), (30, 30, 0, []),
            (30, 31, 0, [30]), (30, 31, 0.9, [30]), (nil, 1, 0, []), (nil, 2, 0.5, [0.375, 0.75]),
        ] as [(Int?, Int, Double, [Double])])
    func pausesAreStatedOrDouble(stated: Int?, left: Int, chance: Double, pauses: [Double]) {
        var retries = Retries(longestPause: .seconds(300))
        for seconds in pauses {
            let pause = retries.pause(stated: stated.map { .seconds($0) }, left: .seconds(left), chance: chance)
            let length = pause.map { Double($0.length.nanoseconds) / 1e9 } ?? -1
            #expect(abs(length - seconds) < 0.001, "\(length)")
            #expect(pause?.isCapped == (stated == 110_207))
        }
        if pauses.isEmpty {
            #expect(retries.pause(stated: stated.map { .seconds($0) }, left: .seconds(left), chance: chance) == nil)
        }
    }

    @Test func noPauseIsMuchLongerThanTheLongest() {
        var retries = Retries(longestPause: .seconds(1))
        let pauses = (0..<4).map { _ in retries.pause(stated: nil, left: .seconds(1000), chance: 1)?.length }
        #expect(pauses == [.milliseconds(500), .seconds(1), .seconds(1), .seconds(1)])
        #expect(retries.pause(stated: .seconds(30), left: .seconds(1000), chance: 1)?.length == .milliseconds(1500))
    }

    // MARK: Throttling

    private static let temporary: [(String, ScriptedServer.Reply, Duration)] = [
        ("THROTTLED", .error("THROTTLED", status: 429, #","retryAfter":7"#), .seconds(7)),
        ("ZONE_BUSY", .error("ZONE_BUSY", status: 503, #","retryAfter":"3""#), .seconds(3)),
        ("TRY_AGAIN_LATER", .error("TRY_AGAIN_LATER", status: 503), .milliseconds(250)),
        ("header", .error("THROTTLED", status: 503, #","retryAfter":110207"#, ["Retry-After": "30"]), .seconds(30)),
        ("no JSON", .raw("<html>", status: 503), .milliseconds(250)),
        ("no JSON 429", .raw("", status: 429, ["Retry-After": "2"]), .seconds(2)),
        ("date", .raw("", status: 503, ["Retry-After": "Sun, 06 Nov 1994 08:50:37 GMT"]), .seconds(60)),
        ("past date", .raw("", status: 503, ["Retry-After": "Sun, 06 Nov 1993 08:50:37 GMT"]), .milliseconds(250)),
    ]

    @Test(arguments: temporary.indices)
    func readsAndSavesThatWereNotDoneAreRepeated(index: Int) async throws {
        let (name, reply, wait) = Self.temporary[index]
        for saves in [false, true] {
            let stage = Stage(day: Timestamp(milliseconds: 784_111_777_000))
            try await ScriptedServer.run(reply, saves ? savedAnswer : noZones) { address, server in
                try await stage.run(address) { client in
                    let database = client.database(.private).observing { stage.observe($0) }
                    if saves { try await database.save() } else { try await database.read() }
                }
                #expect(server.requests.count == 2 && stage.time.pauses == [wait], "\(name)")
                #expect(Set(server.requests.map(\.body)).count == 1)
            }
            let ids = stage.events.map { event in
                switch event {
                case .sending(let attempt, _), .answered(let attempt, _, _, _, _), .waiting(let attempt, _, _):
                    attempt.requestID
                }
            }
            #expect(ids.count == 5 && Set(ids).count == 1, "all attempts have one id")
            #expect(stage.log.contains(ids[0]))
        }
    }

    @Test func theDeadlineIsTheCallers() async throws {
        let stage = Stage()
        try await ScriptedServer.run(.error("THROTTLED", status: 429, #","retryAfter":30"#)) { address, server in
            try await stage.run(address) { client in
                let failed = await failure {
                    try await client.database(.private).until(stage.time.start + .seconds(95)).save()
                }
                #expect(stage.time.pauses == [.seconds(30), .seconds(30), .seconds(30)])
                #expect(failed?.attempts == 4 && server.requests.count == 4)
                guard case .throttled(let error)? = failed?.kind else { return unexpected(failed as Any) }
                #expect(error.retryAfter == .seconds(30) && error.code == .throttled)
                let late = await failure { try await client.database(.private).until(stage.time.start).read() }
                #expect(late?.kind == .unreachable("the deadline had passed") && server.requests.count == 4)
            }
        }
    }

    @Test func aPauseOfDaysIsCappedAndSaid() async throws {
        let stage = Stage()
        let days = ScriptedServer.Reply.json(
            #"{"uuid":"wsThrottles_1","serverErrorCode":"THROTTLED","error_code":"THROTTLED","reason":"Database throttled, retry later","retryAfter":110207}"#,
            status: 503)
        try await ScriptedServer.run(days, noZones, days) { address, server in
            try await stage.run(address, as: nil, { $0.patience = .seconds(400) }) { client in
                try await client.database(.private).observing { stage.observe($0) }.read()
                #expect(stage.time.pauses == [.seconds(300)])
                let said = stage.events.compactMap { event -> RequestEvent.Pause? in
                    if case .waiting(_, let pause, _) = event { pause } else { nil }
                }
                #expect(said == [.init(length: .seconds(300), stated: .seconds(110_207), isCapped: true)])
                #expect(
                    stage.log.contains("warning: zones/list: trying again in 5 minutes, sooner than CloudKit asks")
                        && stage.log.contains("asks to wait 30 hours"))
                // No time for it: the caller learns how long CloudKit asked for.
                let failed = await failure {
                    try await client.database(.private).until(stage.time.start + .seconds(400)).read()
                }
                #expect(
                    failed?.serverError?.retryAfter == .seconds(110_207)
                        && failed?.description.contains("asks to wait 30 hours") == true)
                #expect(server.requests.count == 3 && stage.time.pauses.count == 1)
            }
        }
    }

    @Test(arguments: [400, 403, 404, 409, 413, 500])
    func whatIsRefusedForGoodIsNotRepeated(status: Int) async throws {
        let stage = Stage()
        try await ScriptedServer.run(.error("INTERNAL_ERROR", status: status, "", ["X-Apple-Request-UUID": "apple-1"]))
        { address, server in
            try await stage.run(address) { client in
                let failed = await failure { try await client.database(.private).read() }
                #expect(
                    failed?.serverError?.uuid == "u-1" && failed?.appleRequestUUID == "apple-1"
                        && failed?.requestID != nil)
                #expect(
                    failed?.kind
                        == .refused(
                            ServerError(codeName: "INTERNAL_ERROR", reason: "Because of INTERNAL_ERROR", uuid: "u-1")))
            }
            #expect(server.requests.count == 1)
        }
    }

    // MARK: Items

    private static func items(_ codes: String?...) -> ScriptedServer.Reply {
        let items = codes.map { code in
            #"{"recordName":"r""#
                + (code.map { #","serverErrorCode":"\#($0)","reason":"x","retryAfter":4"# } ?? #","recordType":"T""#)
                + "}"
        }
        return .json(#"{"records":[\#(items.joined(separator: ","))]}"#)
    }

    @Test func aRequestOfWhichNothingWasDoneIsRepeated() async throws {
        let stage = Stage()
        let operations = [
            RecordOperation(.create, recordName: "a", recordType: "T"),
            RecordOperation(.create, recordName: "b", recordType: "T"),
        ]
        try await ScriptedServer.run(
            Self.items("ZONE_BUSY", "ATOMIC_ERROR"), Self.items("THROTTLED", "ZONE_BUSY"), Self.items(nil, nil)
        ) { address, server in
            try await stage.run(address) { client in
                let results = try await client.database(.private).modify(operations, atomic: true)
                #expect(results.allSatisfy { (try? $0.get()) != nil } && server.requests.count == 3)
                #expect(stage.time.pauses == [.seconds(4), .seconds(4)])
            }
        }
        // Something of these requests was done, or will never be.
        for codes in [(nil, "ZONE_BUSY"), ("CONFLICT", "ZONE_BUSY"), ("ATOMIC_ERROR", "ATOMIC_ERROR")]
            as [(String?, String?)]
        {
            try await ScriptedServer.run(Self.items(codes.0, codes.1)) { address, server in
                try await stage.run(address) { client in
                    let results = try await client.database(.private).modify(operations, atomic: false)
                    #expect(server.requests.count == 1 && results.count == 2)
                    #expect(
                        throws: ServerError(
                            codeName: codes.1 ?? "", reason: "x", retryAfter: .seconds(4), recordName: "r")
                    ) { try results[1].get() }
                }
            }
        }
    }

    @Test func itemsThatStayBusyAreTheAnswer() async throws {
        let stage = Stage()
        let busy = ScriptedServer.Reply.json(
            #"{"zones":[{"zoneID":{"zoneName":"Z"},"serverErrorCode":"ZONE_BUSY","reason":"x","retryAfter":50}]}"#)
        try await ScriptedServer.run(busy) { address, server in
            try await stage.run(address) { client in
                let pages = try await client.database(.private).zoneChanges([ZonePull(ZoneID(zoneName: "Z"))])
                guard case .failure(let error) = pages[0] else { return unexpected("a page") }
                #expect(error.code == .zoneBusy && server.requests.count == 3)
            }
        }
    }

    // MARK: Connections

    @Test func whatWasNeverSentIsSentAgain() async throws {
        let stage = Stage()
        var address = ""
        try await ScriptedServer.run(noZones) { closed, _ in address = closed }
        try await stage.run(address, as: nil, { $0.patience = .seconds(600) }) { client in
            for saves in [false, true] {
                let start = stage.time.pacing.now()
                let failed = await failure {
                    if saves {
                        try await client.database(.private).save()
                    } else {
                        try await client.database(.private).read()
                    }
                }
                #expect(failed?.kind == .unreachable("the connection was refused") && (failed?.attempts ?? 0) > 2)
                // The last pause may have begun in time.
                #expect(stage.time.pacing.now() - start < .seconds(60))
            }
        }
    }

    /// The positions at which connections break: every byte of the head and of the body.
    private static let positions = Array(0..<savedAnswer.bytes.count)

    /// Each look at the clock takes 100 seconds, in which a part of the answer would have to have 100 KB.
    @Test func anAnswerThatDripsIsGivenUp() async throws {
        let stage = Stage(tick: .seconds(100))
        try await ScriptedServer.run(.drip()) { address, server in
            try await stage.run(address, as: nil, { $0.patience = .seconds(1_000_000) }) { client in
                let failed = await failure { try await client.database(.private).read() }
                #expect(failed?.kind == .connectionLost("the transfer was slower than 1024 bytes a second"))
                #expect(failed?.attempts == 1 && server.requests.count == 1)
                let lost = await failure { try await client.database(.private).save() }
                guard case .answerLost? = lost?.kind else { return unexpected(lost as Any) }
                #expect(server.requests.count == 2)
            }
        }
    }

    /// However often attempts fail, none begins after half a minute without an answer. Each look at the clock takes
    /// some time.
    @Test(arguments: [(0, 5), (1, 5), (5, 2), (31, 1)] as [(seconds: Int, attempts: Int)])
    func aSilentServerIsNotAskedAgainAndAgain(tick: (seconds: Int, attempts: Int)) async throws {
        let stage = Stage(tick: .seconds(tick.seconds))
        try await ScriptedServer.run(.close) { address, server in
            try await stage.run(address, as: nil, { $0.patience = .seconds(1_000_000) }) { client in
                let failed = await failure { try await client.database(.private).read() }
                guard case .connectionLost? = failed?.kind else { return unexpected(failed as Any) }
                #expect(failed?.attempts == tick.attempts && server.requests.count == tick.attempts)
            }
        }
    }

    /// An answer shows that the server is there, even if it asks to wait.
    @Test func anAnswerEndsTheSilence() async throws {
        let stage = Stage()
        let busy = ScriptedServer.Reply.error("THROTTLED", status: 429, #","retryAfter":40"#)
        try await ScriptedServer.run(.close, busy, .close, busy, noZones) { address, server in
            try await stage.run(address, as: nil, { $0.patience = .seconds(1000) }) { client in
                try await client.database(.private).read()
                #expect(server.requests.count == 5)
            }
        }
    }

    @Test(
        arguments: [(0, 30, true), (1023 * 31, 31, false), (1024 * 31, 31, true), (.max, 1_000_000, true)]
            as [(Int, Int, Bool)])
    func theFloorOfSpeedIsLookedAtAfterHalfAMinute(bytes: Int, seconds: Int, isFastEnough: Bool) {
        var pace = TransferPace()
        #expect(((try? pace.note(bytes, after: .seconds(seconds))) != nil) == isFastEnough)
    }

    @Test func aReadSurvivesAConnectionThatBreaksAnywhere() async throws {
        let stage = Stage()
        let reply = ScriptedServer.Reply.json(#"{"zones":[{"zoneID":{"zoneName":"Z"},"atomic":true}]}"#)
        try await ScriptedServer.run({ _, number in number % 2 == 0 ? reply.cut(after: number / 2) : reply }) {
            address, server in
            try await stage.run(address) { client in
                for position in 0..<reply.bytes.count {
                    let zones = try await client.database(.private).until(stage.time.pacing.now() + .seconds(60))
                        .zones()
                    #expect(
                        zones.map(\.zoneID.zoneName) == ["Z"] && server.requests.count == position * 2 + 2,
                        "at byte \(position)")
                }
            }
        }
    }

    @Test func aSaveIsNeverSentTwiceSilently() async throws {
        let stage = Stage()
        try await ScriptedServer.run({ _, number in savedAnswer.cut(after: Self.positions[number]) }) {
            address, server in
            try await stage.run(address) { client in
                for position in Self.positions {
                    let failed = await failure { try await client.database(.private).save() }
                    guard case .answerLost? = failed?.kind else {
                        return unexpected("at byte \(position): \(String(describing: failed))")
                    }
                    #expect(failed?.attempts == 1 && server.requests.count == position + 1)
                }
            }
        }
        #expect(stage.time.pauses.isEmpty)
    }

    @Test func aHarmlessSaveIsRepeatedWhereTheCallerAsks() async throws {
        let stage = Stage()
        for kind in RecordOperation.Kind.allCases {
            let isHarmless = [.forceUpdate, .forceReplace, .forceDelete].contains(kind)
            for lostAnswer in [DatabaseClient.LostAnswer.report, .repeatIfHarmless] {
                try await ScriptedServer.run(.close, savedAnswer) { address, server in
                    try await stage.run(address) { client in
                        if isHarmless, lostAnswer == .repeatIfHarmless {
                            try await client.database(.private).save(kind, ifAnswerIsLost: lostAnswer)
                            #expect(server.requests.count == 2)
                        } else {
                            let failed = await failure {
                                try await client.database(.private).save(kind, ifAnswerIsLost: lostAnswer)
                            }
                            guard case .answerLost? = failed?.kind else {
                                return unexpected("\(kind): \(String(describing: failed))")
                            }
                            #expect(server.requests.count == 1)
                        }
                    }
                }
            }
        }
        // A name that CloudKit chooses would make a second record.
        try await ScriptedServer.run(.close) { address, server in
            try await stage.run(address) { client in
                let failed = await failure {
                    _ = try await client.database(.private).modify(
                        [RecordOperation(.forceUpdate, recordType: "T")], atomic: false,
                        ifAnswerIsLost: .repeatIfHarmless)
                }
                #expect(failed != nil && server.requests.count == 1)
            }
        }
    }

    @Test func aSaveThatMayHaveBeenMadeStaysLost() async throws {
        // Nothing was done, or nothing was possible: this is said of the second attempt, and not of the first.
        for reply in [
            ScriptedServer.Reply.error("THROTTLED", status: 429, #","retryAfter":1000"#),
            .error("QUOTA_EXCEEDED", status: 413),
        ] {
            let stage = Stage()
            try await ScriptedServer.run(.close, reply) { address, server in
                try await stage.run(address) { client in
                    let failed = await failure {
                        try await client.database(.private).save(.forceUpdate, ifAnswerIsLost: .repeatIfHarmless)
                    }
                    guard case .answerLost? = failed?.kind else { return unexpected(failed as Any) }
                    #expect(
                        failed?.attempts == 2 && server.requests.count == 2
                            && failed?.advice?.contains("Because of") == true)
                }
            }
        }
        let stage = Stage()
        let saving = Mutex<Task<CloudKitFailure?, Never>?>(nil)
        try await ScriptedServer.run(.close) { address, server in
            try await stage.run(address) { client in
                let database = client.database(.private).observing { event in
                    if case .waiting = event { saving.withLock { $0?.cancel() } }
                }
                let task = saving.withLock { saving in
                    let task = Task {
                        await failure { try await database.save(.forceUpdate, ifAnswerIsLost: .repeatIfHarmless) }
                    }
                    saving = task
                    return task
                }
                guard case .answerLost? = await task.value?.kind else { return unexpected("another failure") }
                #expect(server.requests.count == 1)
            }
        }
    }

    @Test func aGatewaysErrorIsALostAnswer() async throws {
        let stage = Stage()
        try await ScriptedServer.run(.raw("<html>", status: 504), noZones, .raw("", status: 502)) { address, server in
            try await stage.run(address) { client in
                try await client.database(.private).read()
                #expect(server.requests.count == 2)
                let failed = await failure { try await client.database(.private).save() }
                #expect(failed?.kind == .answerLost("status 502 without CloudKit's JSON") && server.requests.count == 3)
            }
        }
    }

    // MARK: Cancelling

    @Test func aCancelledSaveMayHaveBeenMade() async throws {
        let stage = Stage()
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        // An answer that never ends.
        try await ScriptedServer.run({ _, _ in
            arrived.yield()
            var reply = savedAnswer
            reply.bytes.removeLast()
            return reply
        }) { address, _ in
            try await stage.run(address) { client in
                var arrivals = arrivals.makeAsyncIterator()
                let saving = Task { await failure { try await client.database(.private).save() } }
                _ = await arrivals.next()
                saving.cancel()
                #expect(await saving.value?.kind == .answerLost("the task was cancelled"))
                let reading = Task { try await client.database(.private).read() }
                _ = await arrivals.next()
                reading.cancel()
                await #expect(throws: CancellationError.self) { try await reading.value }
            }
        }
    }

    @Test func aClosedClientSaysSo() async throws {
        let stage = Stage()
        try await ScriptedServer.run(noZones) { address, server in
            try await stage.run(address) { client in
                await client.close()
                let failed = await failure { try await client.database(.private).save() }
                #expect(failed?.kind == .closed && server.requests.isEmpty)
                await client.close()
            }
        }
    }
}
