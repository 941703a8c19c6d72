import Accounts
import AssetStore
import ConsolePages
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import InMemoryRecordStore
import NIOCore
import RecordStore
import Records
import TestSupport
import Testing

@testable import Console
@testable import HTTPServing

/// The page Rehearsals, its banner on all pages, and who may inject faults.
@Suite struct FaultPageTests {
    private static let there = "/c/iCloud.com.example.App/development/private"

    /// - Parameter kind: only a live server knows the addresses of its clients.
    private func withConsole(
        _ kind: TestingSetup = .live, _ body: @Sendable (any TestClientProtocol, FaultInjection) async throws -> Void
    ) async throws {
        let engine = InMemoryRecordEngine()
        let accounts = try Accounts(file: nil)
        let folder = try TemporaryFolder()
        let assets = AssetStores(folder: folder.url, engine: engine)
        let faults = FaultInjection()
        let container = try #require(ContainerID("iCloud.com.example.App"))
        let address = DatabaseAddress(container: container, environment: .development, scope: .private)
        let database = try await engine.database(address, as: accounts.caller(named: nil, deviceID: nil))
        _ = try await database.modifyZones([.create(ZoneID(zoneName: "<Notes>"))])
        let router = Routes()
        router.addGuards(trusting: .loopback)
        try Console(
            engine: engine, accounts: accounts, assets: assets, faults: faults, templatesFolder: nil, publicFolder: nil
        )
        .addRoutes(to: router)
        try await Application(router: router).test(kind) { client in try await body(client, faults) }
    }

    private func post(_ path: String, _ form: String, _ client: any TestClientProtocol, referer: String? = nil)
        async throws -> TestResponse
    {
        var headers = HTTPFields()
        headers[.referer] = referer
        return try await client.execute(uri: path, method: .post, headers: headers, body: ByteBuffer(string: form)) {
            $0
        }
    }

    /// The field that a switch sends: a rehearsal and its area.
    private static func stop(_ key: String) -> String { "stop=\(PercentEncoding.encoded("rehearsal=\(key)"))" }

    private func page(_ path: String, _ client: any TestClientProtocol) async throws -> String {
        String(buffer: try await client.execute(uri: path, method: .get) { $0 }.body)
    }

    @Test func activeRehearsalsAreShownOnEveryPage() async throws {
        try await withConsole { client, faults in
            #expect(!(try await page("/", client)).contains("Active rehearsals"))
            let answer = try await post(
                "\(Self.there)/rehearsals/start", "start=throttled&count=3&where=zone:%3CNotes%3E", client)
            #expect(answer.status == .seeOther)
            let area = FaultArea(
                container: ContainerID("iCloud.com.example.App"), environment: .development, scope: .private,
                zoneID: ZoneID(zoneName: "<Notes>"))
            #expect(faults.active.map(\.area) == [area])
            #expect(faults.active.map(\.remaining) == [3])
            for path in [
                "/", "/nothing", "\(Self.there)/query", "\(Self.there)/rehearsals", "\(Self.there)/zone?zone=nowhere",
            ] {
                let html = try await page(path, client)
                #expect(html.contains("Active rehearsals"), "\(path)")
                #expect(html.contains("zone &lt;Notes&gt;") && !html.contains("<Notes>"), "\(path)")
            }
            let key = "throttled&container=iCloud.com.example.App&environment=development&database=private&zone="
            for (zone, isLeft) in [("Others", true), ("%3CNotes%3E", false)] {
                let answer = try await post("\(Self.there)/rehearsals/stop", Self.stop(key + zone), client)
                #expect(answer.status == .seeOther && faults.active.isEmpty != isLeft)
            }
        }
    }

    /// The one form of the page sends the fields of all rehearsals, whichever it starts.
    @Test(arguments: [
        ("quota-exceeded", "quota-exceeded=2"), ("partial-failure", "partial-failure=2;every=3;code=QUOTA_EXCEEDED"),
        ("sign-in-expired", "sign-in-expired=2"),
        ("asset-gone", "asset-gone=2"), ("pages-of-one", "pages-of-one"),
    ])
    func theFormStartsEach(name: String, setting: String) async throws {
        try await withConsole { client, faults in
            let html = try await page("\(Self.there)/rehearsals", client)
            #expect(
                html.contains("name=\"start\" value=\"\(name)\"") && html.contains("name=\"every\" value=\"2\"")
                    && html.contains("<option value=\"CONFLICT\" selected>"))
            #expect(
                try await post(
                    "\(Self.there)/rehearsals/start",
                    "start=\(name)&where=container&count=2&every=3&code=QUOTA_EXCEEDED", client
                ).status == .seeOther)
            let running = try #require(faults.active.first)
            #expect(
                try FaultSetting(
                    running.fault, count: running.remaining, every: running.items?.every,
                    code: running.items?.code.rawValue) == FaultSetting(setting))
            for path in ["rehearsals", "query"] {
                #expect(
                    try await page("\(Self.there)/\(path)", client).contains("1 of 3 items with QUOTA_EXCEEDED")
                        == (name == "partial-failure"))
            }
        }
    }

    @Test func aRehearsalIsOfOneClientAndEnds() async throws {
        try await withConsole { client, faults in
            let form = "start=slow&where=container&count=1&ofClient=%3CTablet%3E&minutes="
            for minutes in ["0", "x", "10081"] {
                let answer = try await post("\(Self.there)/rehearsals/start", form + minutes, client)
                #expect(answer.status == .badRequest, "\(minutes)")
            }
            #expect(try await post("\(Self.there)/rehearsals/start", form + "10", client).status == .seeOther)
            let area = FaultArea(container: ContainerID("iCloud.com.example.App"), client: "<Tablet>")
            let active = try #require(faults.active.first)
            #expect(active.area == area && active.until?.milliseconds == active.since.milliseconds + 600_000)
            let html = try await page("\(Self.there)/rehearsals", client)
            #expect(html.contains("client &lt;Tablet&gt;, until 20") && !html.contains("<Tablet>"))
            for (name, isLeft) in [("Phone", true), ("%3CTablet%3E", false)] {
                let key = Self.stop("slow&container=iCloud.com.example.App&client=\(name)")
                let answer = try await post("\(Self.there)/rehearsals/stop", key, client)
                #expect(answer.status == .seeOther && faults.active.isEmpty != isLeft)
            }
        }
    }

    @Test func anActiveRehearsalOffersToStopIt() async throws {
        try await withConsole { client, faults in
            try faults.start(FaultSetting(.conflict))
            let html = try await page("\(Self.there)/rehearsals", client)
            #expect(
                // With the form, which a disabled button keeps from being sent by the return key.
                html.contains("<button hidden disabled>")
                    && html.contains(
                        "<button formaction=\"\(Self.there)/rehearsals/stop\" name=\"stop\" value=\"rehearsal=conflict\" role=\"switch\" aria-checked=\"true\" aria-label=\"CONFLICT\">On</button>"
                    )
            )
            let order = ["expire-tokens", "throttled", "conflict", "pages-of-one"].map {
                html.firstRange(of: ">\($0)</code>")?.lowerBound
            }
            #expect(!order.contains(nil) && order.compactMap { $0 } == order.compactMap { $0 }.sorted())
            #expect(InjectedFault.allCases.allSatisfy { html.contains(">\($0.rawValue)</code>") })
            #expect(
                !html.contains("name=\"start\" value=\"conflict\"")
                    && html.contains("name=\"start\" value=\"throttled\""))
        }
    }

    /// The form has the whole area, so it stops exactly what it is beside.
    @Test func aRehearsalOfOneUserIsStopped() async throws {
        try await withConsole { client, faults in
            let setting = try FaultSetting(.lostNotifications)
            for user in ["_anna", nil] as [Name?] { try faults.start(setting, in: FaultArea(user: user)) }
            let html = try await page("\(Self.there)/rehearsals", client)
            #expect(html.contains("value=\"rehearsal=lost-notifications&amp;user=_anna\""))
            for (key, left) in [("&user=_anna", [FaultArea.everywhere]), ("", [])] {
                let answer = try await post(
                    "\(Self.there)/rehearsals/stop", Self.stop("lost-notifications\(key)"), client)
                #expect(answer.status == .seeOther && faults.active.map(\.area) == left)
            }
        }
    }

    /// Each switch sends the whole form, so a second rehearsal has the client and the count of the first.
    @Test(arguments: ["start=throttled", stop("conflict"), "start=expire-tokens"])
    func theChoicesStay(form: String) async throws {
        try await withConsole { client, faults in
            try faults.start(FaultSetting(.conflict))
            let choices = "where=container&count=3&ofClient=%3CTablet%3E&minutes=10&every=2&code=CONFLICT"
            let path = form.hasPrefix("stop") ? "stop" : "start"
            let answer = try await post("\(Self.there)/rehearsals/\(path)", "\(form)&\(choices)", client)
            let location = try #require(answer.headers[.location])
            // A choice that is as at first needs no place in the address.
            #expect(location.hasSuffix("&where=container&count=3&ofClient=%3CTablet%3E&minutes=10"))
            let after = try await page(location, client)
            #expect(
                after.contains("<option value=\"container\" selected>")
                    && after.contains("<option value=\"&lt;Tablet&gt;\" selected>")
                    && after.contains("name=\"count\" value=\"3\"") && after.contains("name=\"minutes\" value=\"10\""))
            // The question keeps them, too.
            let question = try await page(
                "\(Self.there)/rehearsals/confirm?start=expire-tokens&ofClient=%3CTablet%3E", client)
            #expect(question.contains("<input type=\"hidden\" name=\"ofClient\" value=\"&lt;Tablet&gt;\">"))
            // A zone that is gone does not become everywhere.
            let gone = try await page("\(Self.there)/rehearsals?where=zone:Gone", client)
            #expect(gone.contains("<option value=\"zone:Gone\" selected>"))
        }
    }

    @Test func whatRehearsalsStruckIsSaid() async throws {
        try await withConsole { client, faults in
            func part() async throws -> String {
                let html = try await page("\(Self.there)/rehearsals", client)
                let part = html.firstMatch(of: /<section[^>]*aria-labelledby="on">[\s\S]*?<\/section>/)
                return part.map { String($0.output) } ?? ""
            }
            #expect(try await part().isEmpty)
            try faults.start(FaultSetting("conflict=2"), in: FaultArea(client: "Tablet"))
            #expect(try await part().contains("data-live"))
            let request = RequestFaults(by: ["Tablet"])
            #expect(faults.take(.conflict, for: request) { _ in true } != nil)
            let struck = try await part()
            #expect(struck.contains("requests?text=rehearsed") && struck.contains(">struck 1 time</a>"))
            #expect(struck.contains("1 more time") && !struck.contains("finished"))
            #expect(try await page("/", client).contains("struck 1 time, 1 more time, client Tablet"))
            #expect(faults.take(.conflict, for: request) { _ in true } != nil)
            let finished = try await part()
            #expect(
                finished.contains("CONFLICT client Tablet: finished ") && finished.contains(">struck 2 times</a>")
                    && !finished.contains("data-live"))
            try faults.start(FaultSetting(.slow))
            faults.stop()
            #expect(try await part().contains("Slow answers everywhere: stopped "))
        }
    }

    @Test(arguments: [
        ("expire-tokens", "", "Expire all tokens of iCloud.com.example.App, development?", "have expired"),
        ("reset-zone", "%3CNotes%3E", "Reset the zone &lt;Notes&gt;?", "was deleted and created again, empty"),
        ("purge-zone", "%3CNotes%3E", "Purge the zone &lt;Notes&gt;?", "is purged"),
    ])
    func whatHappensOnceIsAskedForFirst(name: String, zone: String, question: String, outcome: String) async throws {
        try await withConsole { client, faults in
            let asked = try await page("\(Self.there)/rehearsals/confirm?start=\(name)&of=\(zone)", client)
            #expect(asked.contains(question) && asked.contains("name=\"start\" value=\"\(name)\""))
            let done = try await post("\(Self.there)/rehearsals/start", "start=\(name)&of=\(zone)", client)
            #expect(done.status == .seeOther && faults.active.isEmpty)
            let location = try #require(done.headers[.location])
            let after = try await page(location, client)
            #expect(after.contains(outcome))
            // Where no zone is left, none can be purged.
            #expect(after.contains("no zone here") == (name == "purge-zone"))
        }
    }

    @Test(arguments: [
        ("http://127.0.0.1:8080\(there)/query?type=Note", "\(there)/query?type=Note"), ("http://127.0.0.1:8080/", "/"),
        ("https://example.com//example.com/c/", "/"), ("nonsense", "/"), ("http://127.0.0.1", "/"), (nil, "/"),
    ])
    func stoppingAllLeadsBack(referer: String?, location: String) async throws {
        try await withConsole { client, faults in
            for fault in [InjectedFault.pagesOfOne, .conflict] { try faults.start(FaultSetting(fault)) }
            let answer = try await post("/rehearsals/stop", "", client, referer: referer)
            #expect(answer.status == .seeOther)
            #expect(answer.headers[.location] == location)
            #expect(faults.active.isEmpty)
        }
    }

    @Test(arguments: [
        "start=nothing", "start=throttled&count=x", "start=throttled&count=0", "start=throttled&where=nowhere",
        "start=purge-zone", "start=reset-zone&of=",
        "start=reset-zone&of=nowhere", "", "start=partial-failure&every=0", "start=partial-failure&every=x",
        "start=partial-failure&code=NONE",
        "start=asset-gone&where=database",
    ])
    func whatCanNotBeIsRefused(form: String) async throws {
        try await withConsole { client, faults in
            let answer = try await post("\(Self.there)/rehearsals/start", form, client)
            #expect(answer.status == .badRequest || answer.status == .notFound)
            #expect(String(buffer: answer.body).contains("<main id=\"main\""))
            #expect(faults.active.isEmpty)
        }
    }

    /// A client without a known address does not count as local.
    @Test(arguments: ["\(there)/rehearsals/start", "\(there)/rehearsals/stop", "/rehearsals/stop"])
    func clientsElsewhereMayNot(path: String) async throws {
        try await withConsole(.router) { client, faults in
            try faults.start(FaultSetting(.conflict))
            #expect(try await post(path, "start=throttled&stop=conflict", client).status == .forbidden)
            #expect(faults.active.map(\.fault) == [.conflict])
        }
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.255.0.9", true), ("::1", true), ("::ffff:127.0.0.1", true), ("128.0.0.1", false),
        ("10.0.0.127", false),
        ("::2", false), ("fe80::1", false), ("::ffff:10.0.0.1", false), ("0.0.0.0", false),
    ])
    func loopbackIsThisMachine(address: String, isHere: Bool) throws {
        #expect(ServingRequestContext.isThisMachine(try SocketAddress(ipAddress: address, port: 1)) == isHere)
    }

    @Test func aSocketInTheFileSystemIsThisMachine() throws {
        #expect(ServingRequestContext.isThisMachine(try SocketAddress(unixDomainSocketPath: "/tmp/socket")))
        #expect(!ServingRequestContext.isThisMachine(nil))
    }
}
