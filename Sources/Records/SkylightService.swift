/// A service that CloudKit does not have (docs/services.md): a row of a table. The server answers it, clients call it,
/// and its description in docs/openapi.json is compared with it.
package struct SkylightService<Request: Sendable, Answer: Sendable>: Sendable {
    /// Where the service is, and how it is asked.
    package let entry: ServiceEntry
    package let readRequest: @Sendable (RequestObject) throws -> Request
    package let writeRequest: @Sendable (Request, inout JSONWriter) -> Void
    package let readAnswer: @Sendable (RequestObject) throws -> Answer
    package let writeAnswer: @Sendable (Answer, inout JSONWriter) -> Void

    /// - Parameters:
    ///   - path: the path below `/skylight/1/`, below its environment or below its database.
    ///   - request: the members of a request.
    ///   - answer: the members of an answer, in their order.
    package init<each In: Sendable, each Out: Sendable>(
        _ path: String, _ use: ServiceEntry.Use, takes request: repeat JSONMember<each In>,
        answers answer: repeat JSONMember<each Out>
    ) where Request == (repeat each In), Answer == (repeat each Out) {
        var (members, answered): ([MemberShape]?, [MemberShape]?) = ([], [])
        repeat members = members + (each request).shapes
        repeat answered = answered + (each answer).shapes
        entry = ServiceEntry(path: path, use: use, request: members, answer: answered)
        readRequest = { object in (repeat try (each request).read(object)) }
        writeRequest = { values, writer in repeat (each request).write(each values, &writer) }
        readAnswer = { object in (repeat try (each answer).read(object)) }
        writeAnswer = { values, writer in repeat (each answer).write(each values, &writer) }
    }

    /// The body of an answer.
    package func bytes(of answer: Answer) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writeAnswer(answer, &$0) }
        return writer.bytes
    }
}

/// What a row says of its service, whatever its types.
package struct ServiceEntry: Sendable {
    /// How a service is asked.
    package enum Use: Sendable {
        /// By GET. It changes nothing.
        case get
        /// By GET or POST. It changes nothing.
        case read
        /// By POST, because a request may be long. It changes nothing.
        case ask
        /// By POST.
        case change
    }

    package let path: String
    package let use: Use
    /// The members of a request; `nil` if they have several forms.
    package let request: [MemberShape]?
    package let answer: [MemberShape]?
}
