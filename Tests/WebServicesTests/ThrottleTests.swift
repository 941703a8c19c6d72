import Accounts
import HTTPServing
import Records
import RequestLog
import Testing

@testable import WebServices

/// Rate limits per client.
@Suite("Throttling")
struct ThrottleTests {
    private static let start = ContinuousClock.now

    /// The time to wait in seconds; `nil` if the request is admitted.
    private func wait(_ throttle: Throttle, _ client: Throttle.ClientKey, after time: Duration = .zero) -> Int? {
        do {
            try throttle.admit(client, at: Self.start + time)
            return nil
        } catch {
            #expect(error.code == .throttled)
            return error.retryAfter ?? 0
        }
    }

    @Test(
        "A second's worth of requests may come at once, and then no faster than the limit",
        arguments: [1, 3, 7, 100, 1000])
    func burst(limit: Int) {
        let throttle = Throttle(limit: limit)
        let anna = Throttle.ClientKey.user("_anna")
        for _ in 0..<limit { #expect(wait(throttle, anna) == nil) }
        #expect(wait(throttle, anna) == 1)
        // Refused requests cost nothing: after the interval of one request, one is admitted.
        let interval = Duration.seconds(1) / limit
        #expect(wait(throttle, anna, after: interval) == nil)
        #expect(wait(throttle, anna, after: interval) == 1)
        #expect(wait(throttle, anna, after: interval * 2) == nil)
    }

    @Test("Whoever waits as long as it is told gets through")
    func retry() throws {
        let throttle = Throttle(limit: 5)
        var (time, refused) = (Duration.zero, 0)
        for _ in 0..<200 {
            while let seconds = wait(throttle, .apiToken("a"), after: time) {
                refused += 1
                time += .seconds(seconds)
            }
        }
        // 5 per second, the first 5 at once.
        #expect(time == .seconds(39))
        #expect(refused == 39)
    }

    @Test("In the long run there are as many as the limit says")
    func rate() {
        let throttle = Throttle(limit: 10)
        var admitted = 0
        for step in 0..<20_000 where wait(throttle, .address("127.0.0.1"), after: .milliseconds(step)) == nil {
            admitted += 1
        }
        #expect((209...210).contains(admitted))
    }

    @Test("Each user, token, key and address has a bucket of its own")
    func clients() {
        let throttle = Throttle(limit: 1)
        let clients: [Throttle.ClientKey] = [
            .user("_anna"), .user("_bert"), .apiToken("_anna"), .apiToken("b"), .serverKey("k", peer: "10.0.0.1"),
            .serverKey("k", peer: "10.0.0.2"),
            .serverKey("l", peer: "10.0.0.1"), .address("10.0.0.1"), .address("10.0.0.2"),
        ]
        for client in clients { #expect(wait(throttle, client) == nil) }
        for client in clients { #expect(wait(throttle, client) == 1) }
    }

    @Test("More clients than there is room for share a bucket, and what is remembered stays bounded")
    func memory() {
        let throttle = Throttle(limit: 2)
        for number in 0..<Throttle.clientLimit { #expect(wait(throttle, .address("a\(number)")) == nil) }
        #expect(throttle.clientCount == Throttle.clientLimit)
        // Tracked clients keep their buckets.
        #expect(wait(throttle, .address("a7")) == nil)
        #expect(wait(throttle, .address("a7")) == 1)
        // All other clients share one bucket.
        let strangers = (0..<1000).map { wait(throttle, .address("b\($0)")) }
        #expect(strangers.filter { $0 == nil }.count == 2)
        #expect(throttle.clientCount <= Throttle.clientLimit + 1)
        // Full buckets are dropped.
        #expect(wait(throttle, .address("c"), after: .seconds(3)) == nil)
        #expect(throttle.clientCount == 1)
    }

    @Test("A limit is kept within what makes sense")
    func limits() {
        #expect(Throttle(limit: 0).limit == 1)
        #expect(Throttle(limit: .max).limit == Throttle.highestLimit)
        let fastest = Throttle(limit: .max)
        for _ in 0..<1000 { #expect(wait(fastest, .others) == nil) }
    }

    @Test("A throttled request gets status 429 with retryAfter in body and header, and is logged")
    func wire() async throws {
        // The clock stands still, so that nothing depends on the speed of the requests.
        try await TestServer.run(throttle: Throttle(limit: 2, clock: { Self.start })) { server in
            func ask(
                as user: String, _ path: String = "/database/1/iCloud.com.example.Test/development/private/zones/list"
            ) async throws -> RawResponse {
                try #require(
                    try await server.client.exchange(
                        "GET \(path) HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:3000\r\nX-Skylight-User: \(user)\r\nConnection: close\r\n\r\n"
                    ).first)
            }
            for _ in 0..<2 { #expect(try await ask(as: "anna").status == 200) }
            let response = try await ask(as: "anna")
            #expect(response.status == 429)
            #expect(response.headers["retry-after"] == "1")
            #expect(response.headers["access-control-expose-headers"]?.contains("Retry-After") == true)
            let body = try response.json()
            #expect(Subset.differences(["serverErrorCode": "THROTTLED", "retryAfter": 1], body).isEmpty)
            // Other clients and the services about the server are not limited.
            #expect(try await ask(as: "bert").status == 200)
            for _ in 0..<5 { #expect(try await ask(as: "anna", "/skylight/1/health").status == 200) }
            let noted = server.log.latest(30, before: nil, where: { $0.status == 429 })
            #expect(noted.first?.error?.code == .throttled)
            #expect(noted.first?.operation == "zones/list" && noted.first?.authentication?.way == .open)
            #expect(noted.first?.userRecordName == User.recordName(ofHandle: "anna"))
        }
    }

    @Test("A throttled request is refused before its body is read")
    func unread() async throws {
        try await TestServer.run(throttle: Throttle(limit: 1, clock: { Self.start })) { server in
            let head =
                "POST /database/1/iCloud.com.example.Test/development/private/zones/list HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            let whole = head + "Content-Length: 2\r\n\r\n{}"
            let first = try await server.client.exchange(whole).first?.status
            #expect(first == 200)
            // No byte of the body is sent.
            let unsent = head + "Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n"
            let second = try await server.client.exchange(unsent).last?.status
            #expect(second == 429)
        }
    }

    @Test("A throttled user still gets the next token, and the log names the user")
    func tokenOfRefused() async throws {
        try await TestServer.run(requiring: .required, throttle: Throttle(limit: 1, clock: { Self.start })) { server in
            let stage = try await CredentialStage(server)
            let path = "/database/1/\(CredentialStage.container)/development/private/zones/list"
            let sent = try stage.sent(.session, path, body: "")
            #expect(try await stage.send("GET", sent, "").status == 200)
            let refused = try await stage.send("GET", sent, "")
            #expect(refused.status == 429 && refused.headers["x-apple-cloudkit-web-auth-token"] != nil)
            let noted = try #require(refused.headers["x-skylight-request"].flatMap { server.log.request($0) })
            #expect(noted.authentication?.way == .webAuth && noted.authentication?.session == stage.session.session.id)
            #expect(noted.userRecordName == stage.anna.userRecordName)
            // A client without a valid token has its own bucket.
            #expect(try await stage.send("GET", stage.sent(.revokedSession, path, body: ""), "").status == 421)
        }
    }

    @Test("A token for the next request comes with a refused device, too")
    func tokenOfRefusedDevice() async throws {
        try await TestServer.run(requiring: .required) { server in
            let stage = try await CredentialStage(server)
            var sent = try stage.sent(
                .session, "/database/1/\(CredentialStage.container)/development/private/zones/list", body: "")
            sent.headers.append("X-Skylight-Device: \(String(repeating: "d", count: 300))")
            let refused = try await stage.send("GET", sent, "")
            #expect(refused.status == 400 && refused.headers["x-apple-cloudkit-web-auth-token"] != nil)
        }
    }
}
