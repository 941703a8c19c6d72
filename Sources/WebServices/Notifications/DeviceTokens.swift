internal import JSON
internal import RecordStore
internal import Records

/// `tokens/create`: makes a token for the web courier and registers it for this container and environment (Apple's reference page "Creating APNs
/// Tokens").
struct TokensCreate: Endpoint {
    static let purpose = EndpointPurpose.changing

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let request = try DeviceRequest(call)
        let token = try await call.notifier.makeToken(for: call.caller.userRecordName, clientID: request.clientID, at: request.place)
        request.write(token, call, into: &writer)
    }
}

/// `tokens/register`: registers a token for one more container or environment (Apple's reference page "Registering Tokens").
///
/// It answers like `tokens/create`, because CloudKit JS begins to poll with either answer.
struct TokensRegister: Endpoint {
    static let purpose = EndpointPurpose.changing

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let request = try DeviceRequest(call)
        let token = try call.body.required("apnsToken", "a string", call.body.string("apnsToken"))
        guard try await call.notifier.register(token, of: call.caller.userRecordName, at: request.place) else {
            throw RecordError(.notFound, "The user has no such apnsToken here, or it has expired; ask tokens/create for another one")
        }
        request.write(token, call, into: &writer)
    }
}

/// The parts that both requests have.
private struct DeviceRequest {
    let place: Notifier.Place
    let apnsEnvironment: Environment
    let clientID: String?

    init(_ call: EndpointCall) throws {
        place = Notifier.Place(container: call.path.container, environment: call.path.environment)
        if let name = try call.body.string("apnsEnvironment") {
            guard let environment = Environment(rawValue: name) else {
                throw RecordError.unexpectedInput("Expected 'apnsEnvironment' to be development or production, found '\(name)'")
            }
            apnsEnvironment = environment
        } else {
            apnsEnvironment = call.path.environment
        }
        // Clients spell the member in two ways. The deviceID of the client's saves comes first, because changes with it are the client's own.
        let named = try CallerResolver.device(call.body.string("clientId") ?? call.body.string("clientID"))
        clientID = CallerResolver.device(call.caller.deviceID) ?? named
        call.note?.noteDevice(clientID)
    }

    func write(_ token: String, _ call: EndpointCall, into writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("apnsEnvironment", apnsEnvironment.rawValue)
            writer.member("apnsToken", token)
            writer.member("webcourierURL", "\(call.origin())\(WebCourier.path)?tok=\(token)&ttl=\(SubscriptionRules.tokenLifetime)")
        }
    }
}
