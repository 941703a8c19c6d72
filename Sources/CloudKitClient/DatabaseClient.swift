public import JSON
public import Records

/// A database of a container. A value: copies with other deadlines and observers share the connections.
///
/// Methods throw ``CloudKitFailure`` if a request fails as a whole, and `CancellationError` if the task is cancelled while it reads. A save that
/// was under way throws ``CloudKitFailure/Kind/answerLost(_:)`` then. Items that fail alone are in the answers.
public struct DatabaseClient: Sendable {
    /// The maximum number of items in a request, and of records in an answer.
    public static let itemLimit = 200

    /// The client whose connections and credentials the database uses.
    public let container: ContainerClient
    /// Public, private or shared. Credentials may not reach all three.
    public let scope: DatabaseScope
    var options = CallOptions()

    init(_ container: ContainerClient, _ scope: DatabaseScope) {
        self.container = container
        self.scope = scope
    }

    /// The same database, with a time by which each answer must be there, repetitions included.
    public func until(_ deadline: ContinuousClock.Instant) -> DatabaseClient {
        var client = self
        client.options.deadline = deadline
        return client
    }

    /// The same database, with a time after which a file is given up that does not move, repetitions included. A deadline may end it earlier.
    public func withFilePatience(_ patience: Duration) -> DatabaseClient {
        var client = self
        client.options.filePatience = patience
        return client
    }

    /// The same database, with an observer of its requests. Earlier observers are told too.
    /// - Parameter observer: is called where the request runs, so it must be quick.
    public func observing(_ observer: @escaping @Sendable (RequestEvent) -> Void) -> DatabaseClient {
        var client = self
        let earlier = options.observer
        client.options.observer = { event in
            earlier?(event)
            observer(event)
        }
        return client
    }

    /// Calls any service of the database: for those without a method here, such as `assets/rereference`.
    /// - Parameters:
    ///   - action: such as `assets/rereference`.
    ///   - body: the request's object; `nil` sends a GET.
    ///   - saves: false if the service only reads, so that a lost answer may be asked for again.
    ///   - parameters: of the query, not encoded.
    /// - Returns: the answer's object. Its items may be errors.
    public func call(
        _ action: String, body: JSONObject?, saves: Bool, parameters: [(name: String, value: String)] = []
    ) async throws -> JSONObject {
        let json = body.map { JSONWriter.bytes(of: .object($0)) }
        let call = ServiceCall(action, under: root, saves ? .saves : .reads, parameters: parameters, body: json)
        return try await container.exchanger.perform(call, options).object
    }

    // MARK: For the families of services

    var root: String { "/database/1/\(container.container)/\(container.environment.rawValue)/\(scope.rawValue)/" }

    /// Sends a request and decodes its answer.
    func send<Answer>(_ call: ServiceCall, _ decode: (JSONObject) throws -> Answer) async throws -> Answer {
        let answered = try await container.exchanger.perform(call, options)
        do {
            return try decode(answered.object)
        } catch let shape as UnexpectedShape {
            let reason = "expected \(shape.expected)"
            throw answered.failure(call.effect == .reads ? .unexpectedAnswer(status: 200, reason) : .answerLost(reason))
        }
    }

    /// Sends the items of a request in parts of ``itemLimit``, one after the other.
    /// - Parameter outcomes: the place of a failure for the outcomes of saves, which must not be lost with the parts after them.
    /// - Returns: the answers of all items, in their order.
    /// - Throws: ``CloudKitFailure`` with the part that failed, if there are several.
    func inParts<Item, Answer>(
        _ items: [Item], keeping outcomes: WritableKeyPath<CloudKitFailure, [Result<Answer, ServerError>]>? = nil,
        _ send: (ArraySlice<Item>) async throws -> [Result<Answer, ServerError>]
    ) async throws -> [Result<Answer, ServerError>] {
        var answers: [Result<Answer, ServerError>] = []
        answers.reserveCapacity(items.count)
        for start in stride(from: 0, to: items.count, by: Self.itemLimit) {
            let part = start..<min(start + Self.itemLimit, items.count)
            do {
                answers += try await send(items[part])
            } catch {
                guard items.count > Self.itemLimit else { throw error }
                var failure: CloudKitFailure
                switch error {
                case let known as CloudKitFailure: failure = known
                case is CancellationError where start > 0 && outcomes != nil: failure = CloudKitFailure(.cancelled, action: "records/modify")
                default: throw error
                }
                failure.part = part
                if let outcomes { failure[keyPath: outcomes] = answers }
                throw failure
            }
        }
        return answers
    }
}
