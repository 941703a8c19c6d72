internal import HTTPTypes
internal import JSON

/// The description of a service in `/openapi.json`. The tables of services require one for each entry, so no service lacks it.
struct ServiceDescription: Sendable {
    /// A few words for lists.
    let summary: String
    /// One or more sentences about the service.
    let details: String
    /// The body of a request, or the query of a GET.
    let request: JSONSchema
    let answer: Answer
    /// True if a GET accepts the members of the body in its query.
    let takesSameByGET: Bool
    /// The error statuses beyond those of all services of its kind.
    let statuses: [HTTPResponse.Status]
    /// Statuses other than 200 whose body is the regular answer instead of an error.
    let answersWith: [HTTPResponse.Status]
    /// Query parameters of a GET that are not members of the body.
    let parameters: JSONSchema

    enum Answer: Sendable {
        /// No answer except errors.
        case none
        case json(JSONSchema)
        /// Lines of JSON.
        case lines(JSONSchema)
        /// Server-sent events with JSON data, until the client disconnects.
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

/// A service with a description.
protocol DescribedService {
    static var described: ServiceDescription { get }
}
