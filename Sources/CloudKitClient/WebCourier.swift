public import JSON
internal import NIOHTTP1
internal import Records

/// A device's token for notifications, and the address at which it waits for them. Whoever has the address gets the notifications.
public struct CourierToken: Sendable, Hashable {
    /// Names the device for `tokens/register`.
    public let apnsToken: String
    /// The address to ask for notifications, with the token in it.
    public let webcourierURL: String
}

extension ContainerClient {
    /// Makes a token, and registers it for the container and user of the credentials (`tokens/create`, `tokens/register`). It lasts twelve hours.
    /// - Parameter clientID: identifies the device among those of the user.
    public func makeCourierToken(clientID: String) async throws -> CourierToken {
        var body = JSONObject()
        body["apnsEnvironment"] = .string(environment.rawValue)
        body["clientId"] = .string(clientID)
        let made = try await callDevice("tokens/create", body: body)
        guard let apnsToken = made.string("apnsToken"), let url = made.string("webcourierURL") else {
            throw CloudKitFailure(.unexpectedAnswer(status: 200, "expected strings 'apnsToken' and 'webcourierURL'"), action: "tokens/create")
        }
        body["apnsToken"] = .string(apnsToken)
        _ = try await callDevice("tokens/register", body: body)
        return CourierToken(apnsToken: apnsToken, webcourierURL: url)
    }

    /// Waits for the next notification, as long as the courier holds the request. It is taken with that: nobody gets it again.
    /// - Returns: `nil` if none came in that time; ask again.
    /// - Throws: ``CloudKitFailure``, of kind `assetRefused` or `refused` for a token that is no longer valid; `CancellationError`.
    public func nextNotification(at token: CourierToken) async throws -> JSONObject? {
        var attempts = try FileAttempts("web courier", of: token.webcourierURL, named: "", exchanger, CallOptions())
        while true {
            let reply: Transport.Reply
            do {
                reply = try await attempts.transport.reply(of: attempts.transport.file(attempts.next(.GET), within: attempts.transport.timeToNotify).get()).get()
            } catch Transport.Trouble.lost {
                // Nothing came for longer than the connection may be silent.
                try await exchanger.pacing.pause(.seconds(1))
                return nil
            } catch let trouble as Transport.Trouble {
                try await attempts.failed(trouble)
                continue
            }
            guard (200..<300).contains(reply.status) else {
                try await attempts.refused(reply)
                continue
            }
            attempts.answered(reply)
            return reply.object
        }
    }
}
