import HTTPServing
import RecordStore
import Records
import Testing

/// Answers to clients when the engine fails.
@Suite("Failing engines")
struct EngineFailureTests {
    @Test(
        "Each code has its status",
        arguments: [
            (ServerErrorCode.accessDenied, 403), (.atomicError, 400), (.authenticationFailed, 401),
            (.authenticationRequired, 421), (.badRequest, 400),
            (.conflict, 409), (.exists, 409), (.internalError, 500), (.notFound, 404), (.quotaExceeded, 413),
            (.throttled, 429),
            (.tryAgainLater, 503), (.validatingReferenceError, 412), (.zoneBusy, 503), (.zoneNotFound, 404),
        ])
    func statuses(code: ServerErrorCode, status: Int) async throws {
        let response = try await response(to: RecordError(code, "the reason"))
        #expect(response.status == status)
        let expected: JSONValue = [
            "serverErrorCode": .string(code.rawValue), "reason": "the reason", "uuid": "<any>",
            "retryAfter": "<absent>",
        ]
        #expect(Subset.differences(expected, try response.json()) == [])
    }

    @Test("retryAfter is in the body and in the header")
    func retryAfter() async throws {
        let response = try await response(to: RecordError(.tryAgainLater, "The write queue is full", retryAfter: 3))
        #expect(response.status == 503)
        #expect(response.headers["retry-after"] == "3")
        #expect(Subset.differences(["retryAfter": 3], try response.json()) == [])
    }

    @Test("Other errors are not told")
    func unexpected() async throws {
        let response = try await response(to: Secret())
        #expect(response.status == 500)
        #expect(Subset.differences(["serverErrorCode": "INTERNAL_ERROR", "uuid": "<any>"], try response.json()) == [])
        #expect(!response.text.contains("password"))
    }

    private struct Secret: Error {
        let text = "password"
    }

    private func response(to error: any Error) async throws -> RawResponse {
        let (responses, continuation) = AsyncStream.makeStream(of: RawResponse.self)
        try await TestServer.run(on: FailingEngine(error: error)) { server in
            let request =
                "GET /database/1/iCloud.com.example.Test/development/private/zones/list HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            for response in try await server.client.exchange(request) { continuation.yield(response) }
        }
        continuation.finish()
        for await response in responses { return response }
        throw RawResponse.Malformed(text: "no answer")
    }
}

private struct FailingEngine: RecordEngine, ContainerListing {
    let error: any Error

    func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase { throw error }
    func containers() async throws -> [ContainerID] { throw error }
    func environments(of container: ContainerID) async throws -> [Records.Environment] { throw error }
    func close() async {}
}
