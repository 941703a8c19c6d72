internal import HTTPTypes
internal import JSON

/// What `/openapi.json` says of a service. It stands beside the service in the tables: what has none does not compile.
struct ServiceDescription: Sendable {
    /// A few words, for lists.
    let summary: String
    /// More about it, in a sentence or some.
    let details: String
    /// What the body of a request holds, or for a GET its query.
    let request: JSONSchema
    let answer: Answer
    /// Whether a GET takes what a POST has in its body, in its query.
    let takesSameByGET: Bool
    /// The statuses that it has beside those of every service of its kind.
    let statuses: [HTTPResponse.Status]
    /// Statuses beside 200 that come with its answer, not with an error.
    let answersWith: [HTTPResponse.Status]
    /// What a GET takes in its query that a POST has no member for.
    let parameters: JSONSchema

    enum Answer: Sendable {
        /// Nothing but errors.
        case none
        case json(JSONSchema)
        /// Lines of JSON, each by itself.
        case lines(JSONSchema)
        /// Server-sent events that come for as long as the client listens, with JSON as their data.
        case events(String)
        case text(String)
        /// The bytes of a file.
        case file
    }

    init(
        _ summary: String, _ details: String = "", takes request: JSONSchema = .object(), parameters: JSONSchema = .object(),
        takesSameByGET: Bool = true, answers answer: JSONSchema, statuses: [HTTPResponse.Status] = [], answersWith: [HTTPResponse.Status] = []
    ) {
        self.init(summary, details, takes: request, parameters: parameters, takesSameByGET: takesSameByGET, answers: .json(answer), statuses: statuses, answersWith: answersWith)
    }

    init(
        _ summary: String, _ details: String = "", takes request: JSONSchema = .object(), parameters: JSONSchema = .object(),
        takesSameByGET: Bool = true, answers answer: Answer, statuses: [HTTPResponse.Status] = [], answersWith: [HTTPResponse.Status] = []
    ) {
        self.summary = summary
        self.details = details
        self.request = request
        self.parameters = parameters
        self.answer = answer
        self.takesSameByGET = takesSameByGET
        self.statuses = statuses
        self.answersWith = answersWith
    }
}

/// A service that says what it is.
protocol DescribedService {
    static var described: ServiceDescription { get }
}
