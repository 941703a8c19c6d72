import Foundation
import LoopbackServing
import Records
import TestSupport
import Testing

/// `skylight mirror` and `skylight push`, against a stand-in for iCloud.
@Suite(.serialized) struct MirrorTests: CommandTests {
    private static let container = StandIn.container
    private static let copy = StandIn.copy
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Runs a command that has to succeed.
    private func run(_ arguments: [String], in data: String) async throws -> Command.Result {
        let result = try await Command.run(arguments + ["--data", path(data)])
        #expect(result.status == 0, "\(arguments.joined(separator: " ")): \(result.errors)")
        return result
    }

    /// - Parameter place: the options of a database and its zone.
    private func importing(
        _ rows: String, into container: String, _ place: [String] = ["--database", "public"], in data: String
    ) async throws {
        let file = try write("iata,name\n\(rows)", to: "rows.csv")
        _ = try await run(
            ["import", file, "--container", container, "--type", "Airport", "--name-field", "iata"] + place, in: data)
    }

    private func exported(_ container: String, _ place: [String] = ["--database", "public"], in data: String)
        async throws -> [Substring]
    {
        let lines = try await run(["export", "--container", container] + place, in: data).output.split(separator: "\n")
        return lines.dropFirst().filter { $0.contains("Airport") }
    }

    /// Runs with a stand-in, to which the folder `data` is connected.
    private func withStandIn(_ credentials: StandIn.Credentials = .serverKey, _ body: (StandIn) async throws -> Void)
        async throws
    {
        try await StandIn.run(in: folder) { standIn in
            let connected = try await standIn.connect(with: credentials)
            #expect(connected.status == 0, "\(connected.errors)")
            try await body(standIn)
        }
    }

    private static let mirror = ["mirror", container, "--public-types", "Airport", "--json"]

    @Test func aConnectedContainerIsReadWhereItIs() async throws {
        try await importing("ATL,Atlanta\nBER,Berlin\n", into: Self.container, in: "origin")
        try await StandIn.addIndexes(to: "Airport", in: folder)
        let place = ["--container", Self.container, "--database", "public"]
        try await withStandIn { _ in
            let found = try await run(["query", "--type", "Airport"] + place, in: "data").output
            #expect(found.contains(/^Name .*name/) && found.contains("Atlanta") && found.contains("Berlin"), "\(found)")
            let fetched = try await run(["fetch", "BER", "--json"] + place, in: "data").outputJSON
            #expect(fetched["recordName"] == "BER" && fetched["recordType"] == "Airport")
            let refused = try await Command.run(
                ["query", "name = Berlin", "--type", "Airport", "--data", path("data")] + place)
            #expect(refused.status == 1 && refused.errors.contains("not marked queryable"), "\(refused.errors)")
        }
    }

    @Test func aConnectedContainerIsCopiedAndChangesAreSentBack() async throws {
        try await importing("ATL,Atlanta\nBER,Berlin\nCDG,Paris\n", into: Self.container, in: "origin")
        try await StandIn.addIndexes(to: "Airport", in: folder)
        let unknown = try await Command.run(["mirror", Self.container, "--data", path("data")])
        #expect(unknown.status == 1 && unknown.errors.contains("is not connected"))
        try await withStandIn { _ in
            #expect(try await run(Self.mirror, in: "data").outputJSON["saved"] == .integer(3))
            let again = try await run(Self.mirror, in: "data").outputJSON
            #expect(again["saved"] == .integer(0) && again["problems"] == .array([]))
            let lines = try await exported(Self.copy, in: "data")
            #expect(lines.count == 3 && lines.contains { $0.contains("Berlin") })

            try await importing("DEN,Denver\n", into: Self.copy, in: "data")
            let planned = try await run(["push", Self.container, "--dry-run"], in: "data")
            #expect(
                planned.output.contains(/create +public +_defaultZone +DEN +iata name/)
                    && planned.errors.contains("1 would be sent"), "\(planned)")
            let unasked = try await Command.run(["push", Self.container, "--data", path("data")])
            #expect(unasked.status == 64 && unasked.errors.contains("--yes"))
            let pushed = try await run(["push", Self.container, "--yes", "--json"], in: "data").outputJSON
            guard case .array(let items)? = pushed["items"] else {
                Issue.record("\(pushed)")
                return
            }
            #expect(items.count == 1 && pushed["refused"] == .array([]) && pushed["conflicts"] == .array([]))
            #expect(
                try await run(["push", Self.container, "--dry-run"], in: "data").errors.contains("0 would be sent"))
        }
        let unsettled = try await Command.run(["push", Self.container, "--keep-mine", "DEN", "--data", path("data")])
        #expect(unsettled.status == 1 && unsettled.errors.contains("no change in conflict"))
        let there = try await exported(Self.container, in: "origin")
        #expect(there.count == 4 && there.contains { $0.contains("Denver") })
    }

    /// The number of processes that are killed.
    private static let rounds = Chance.times(6)

    /// Processes end at any moment while the origin changes, after a few requests, and the next ones go on. A key reaches
    /// types without a feed, a sign-in zones with tokens.
    @Test(arguments: StandIn.Credentials.allCases)
    func killedProcessesLeaveACopyThatGoesOn(credentials: StandIn.Credentials) async throws {
        let zone = credentials == .signIn ? "Flights" : nil
        let rows = (0..<3000).map { "A\($0),Airport \($0)\n" }.joined()
        let place = zone.map { ["--zone", $0] } ?? ["--database", "public"]
        try await importing(rows, into: Self.container, place + ["--user", StandIn.user], in: "origin")
        try await StandIn.addIndexes(to: "Airport", in: folder)
        var (random, user, killed) = (SeededRandom(seed: UInt64(Self.rounds)), "", 0)
        try await StandIn.run(in: folder) { standIn in
            try await BreakingProxy.run(to: standIn.port, .forward) { port, proxy in
                let connected = try await standIn.connect(with: credentials, at: "http://127.0.0.1:\(port)")
                #expect(connected.status == 0, "\(connected.errors)")
                for round in 1...Self.rounds {
                    let process = try RunningProcess(Self.mirror + ["--data", path("data")])
                    let first = Int.random(in: 0..<3500, using: &random)
                    try await standIn.modify(
                        (first..<first + 150).map { Self.change(of: $0, in: round, mayDelete: zone != nil) }, in: zone)
                    let moment = proxy.requests + Int.random(in: 0...12, using: &random)
                    try await eventually { proxy.requests >= moment || !process.process.isRunning }
                    process.signal(SIGKILL)
                    if await process.end().status == SIGKILL { killed += 1 }
                }
                let last = try await run(Self.mirror, in: "data").outputJSON
                #expect(last["problems"] == .array([]))
                user = try await standIn.connectedUser()
            }
        }
        #expect(killed > 0, "every process was over before it was killed")
        let there = try await exported(Self.container, place + ["--user", StandIn.user], in: "origin")
        let here = try await exported(Self.copy, place + ["--user", user], in: "data")
        #expect(there.count > 2000 && there == here)
    }

    /// An operation on an airport. Deletions are found in a feed; without one, once an hour.
    private static func change(of number: Int, in round: Int, mayDelete: Bool) -> JSONValue {
        let name = JSONValue.string("A\(number)")
        if mayDelete, number.isMultiple(of: 5) {
            return ["operationType": "forceDelete", "record": ["recordName": name]]
        }
        let fields: JSONValue = ["name": ["value": .string("Airport \(number) in round \(round)")]]
        return [
            "operationType": "forceUpdate", "record": ["recordName": name, "recordType": "Airport", "fields": fields],
        ]
    }

    @Test func aTypeWithoutIndexesIsNamed() async throws {
        try await importing("ATL,Atlanta\n", into: Self.container, in: "origin")
        try await withStandIn { _ in
            let result = try await Command.run([
                "mirror", Self.container, "--public-types", "Airport", "--data", path("data"),
            ])
            #expect(result.status == 1 && result.errors.contains("modifiedTimestamp QUERYABLE"), "\(result)")
        }
    }
}
