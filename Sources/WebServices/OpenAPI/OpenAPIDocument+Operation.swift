internal import HTTPTypes
internal import JSON
internal import Records

extension OpenAPIDocument {
    /// A method of a path.
    struct Operation {
        let method: HTTPRequest.Method
        private let described: ServiceDescription
        private let place: [Parameter]
        private let access: Security

        /// - Parameter place: the parameters in the path.
        init(_ method: HTTPRequest.Method, _ described: ServiceDescription, _ place: [Parameter], _ access: Security) {
            self.method = method
            self.described = described
            self.place = place
            self.access = access
        }

        private var hasBody: Bool { method == .post || method == .put }
        private var isUpload: Bool { place.contains(.ticket) && hasBody }

        func json(at path: String, _ tag: Tag) -> JSONValue {
            var json = JSONObject()
            json["tags"] = [.string(tag.rawValue)]
            json["operationId"] = .string(identifier(at: path))
            json["summary"] = .string(described.summary)
            if !described.details.isEmpty { json["description"] = .string(described.details) }
            if described.summary.hasSuffix("(deprecated)") { json["deprecated"] = true }
            let parameters = parameters
            if !parameters.isEmpty { json["parameters"] = .array(parameters) }
            if isUpload {
                json["requestBody"] = ["required": true, "content": ["application/octet-stream": ["schema": described.request.value]]]
            } else if hasBody {
                let isRequired = described.request.members.contains(where: \.isRequired) || described.request.members.isEmpty && described.request.isChoice
                json["requestBody"] = ["required": .bool(isRequired), "content": ["application/json": ["schema": described.request.value]]]
            }
            // Paths of one part, such as `/health`, are not web services, and their errors are plain text.
            json["responses"] = .object(responses(inWords: path.split(separator: "/").count == 1))
            json["security"] = access.requirements
            return .object(json)
        }

        /// An operation ID such as `recordsQuery` or `skylightRecordsQuery`. Methods other than POST are appended.
        private func identifier(at path: String) -> String {
            let words = path.split(whereSeparator: { !$0.isLetter && !$0.isNumber }).map(String.init)
            let places = Set(place.map(\.name))
            // The first part only marks the protocol's own services.
            let kept = (words.first == "database" ? words.dropFirst() : words[...]).filter { $0 != "1" && !($0 == "database" || places.contains($0)) || $0 == words.last }
            let name = kept.enumerated().map { $0.offset == 0 ? $0.element : $0.element.prefix(1).uppercased() + $0.element.dropFirst() }.joined()
            return method == .post ? name : name + method.rawValue.prefix(1) + method.rawValue.dropFirst().lowercased()
        }

        // MARK: Parameters

        private var parameters: [JSONValue] {
            let inPath = place.map(\.reference)
            let inQuery = described.parameters.members + (hasBody || !described.takesSameByGET ? [] : described.request.members)
            return inPath + inQuery.flatMap(Self.parameters) + access.headers.map(\.reference)
        }

        /// The query parameters for a member of a body.
        private static func parameters(_ member: JSONSchema.Member) -> [JSONValue] {
            switch member.name {
            // The parameters `zone` and `owner` replace the two zone members.
            case "zoneName", "ownerRecordName", "schema": []
            case "zoneID": [parameter("zone", JSONSchema.string.value, false), parameter("owner", JSONSchema.string.value, false)]
            default: [parameter(member.name, member.schema, member.isRequired)]
            }
        }

        private static func parameter(_ name: Name, _ schema: JSONValue, _ isRequired: Bool) -> JSONValue {
            var json: JSONObject = JSONObject()
            json["name"] = .string(name.string)
            json["in"] = "query"
            if isRequired { json["required"] = true }
            if case .object(let members) = schema, members["type"] == "array" {
                json["style"] = "form"
                json["explode"] = false
            }
            json["schema"] = schema
            return .object(json)
        }

        // MARK: Responses

        private func responses(inWords: Bool) -> JSONObject {
            var responses = JSONObject()
            if let answer = described.answer.json {
                for status in [.ok] + described.answersWith { responses[Name(String(status.code))] = .object(answer.adding("headers", headers)) }
            }
            if case .file = described.answer { addFileResponses(to: &responses) }
            for failure in OpenAPIDocument.failures where statuses.contains(failure.status.code) {
                let name = Name(String(failure.status.code))
                if responses[name] != nil { continue }
                responses[name] = inWords ? failure.json(as: "text/plain", .string) : ["$ref": .string("#/components/responses/\(failure.name)")]
            }
            return responses
        }

        private func addFileResponses(to responses: inout JSONObject) {
            responses["206"] = ["description": "A part of it", "content": ["*/*": [:]]]
            responses["304"] = ["description": "It has not changed"]
            responses["412"] = ["description": "It is not as the request wants it"]
            responses["416"] = ["description": "It has no such part"]
        }

        private var statuses: Set<Int> {
            Set(access.statuses + (hasBody ? [408, 413, 415] : []) + [400, 404, 414, 500, 503] + described.statuses.map(\.code))
        }

        private var headers: JSONValue {
            var headers = JSONObject()
            headers["X-Skylight-Request"] = ["$ref": "#/components/headers/RequestID"]
            if access == .client { headers["X-Apple-CloudKit-Web-Auth-Token"] = ["$ref": "#/components/headers/WebAuthToken"] }
            return .object(headers)
        }
    }

    /// A way in which a request can fail as a whole: a status and its error codes.
    struct Failure {
        let status: HTTPResponse.Status
        let name: String
        private let description: String

        init(_ status: HTTPResponse.Status, _ name: String, _ description: String) {
            self.status = status
            self.name = name
            self.description = description
        }

        func json(as type: Name = "application/json", _ schema: JSONSchema = .named(.failure)) -> JSONValue {
            var json = JSONObject()
            json["description"] = .string(description)
            if status == .tooManyRequests || status == .serviceUnavailable {
                json["headers"] = ["Retry-After": ["$ref": "#/components/headers/RetryAfter"]]
            }
            json["content"] = .object(OpenAPIDocument.members([(type, ["schema": schema.value])]))
            return .object(json)
        }
    }

    static let failures: [Failure] = [
        Failure(.badRequest, "BadRequest", "BAD_REQUEST: the request is not as it should be, or asks for what is not there"),
        Failure(.unauthorized, "Unauthorized", "AUTHENTICATION_FAILED: credentials are missing or don't let anybody in"),
        Failure(.forbidden, "Forbidden", "ACCESS_DENIED: whoever asks may not do that"),
        Failure(.notFound, "NotFound", "NOT_FOUND, ZONE_NOT_FOUND: there is no such thing"),
        Failure(.requestTimeout, "RequestTimeout", "BAD_REQUEST: the body came too slowly"),
        Failure(.conflict, "Conflict", "CONFLICT, EXISTS: it is not as the request says, or there already"),
        Failure(.gone, "Gone", "NOT_FOUND: the address was good once"),
        Failure(.preconditionFailed, "PreconditionFailed", "VALIDATING_REFERENCE_ERROR: a record refers to it, or to what is missing"),
        Failure(.contentTooLarge, "ContentTooLarge", "QUOTA_EXCEEDED, BAD_REQUEST: it is larger than it may be"),
        Failure(.uriTooLong, "TargetTooLong", "BAD_REQUEST: the path with its query has more than 16 KiB"),
        Failure(.unsupportedMediaType, "UnsupportedMediaType", "BAD_REQUEST: the body is in a coding other than gzip"),
        Failure(.misdirectedRequest, "AuthenticationRequired", "AUTHENTICATION_REQUIRED: a user has to sign in, at `redirectURL`"),
        Failure(.tooManyRequests, "TooManyRequests", "THROTTLED: too many requests; `retryAfter` says how long to wait"),
        Failure(.internalServerError, "InternalError", "INTERNAL_ERROR: the server failed; its log says why"),
        Failure(.serviceUnavailable, "ServiceUnavailable", "TRY_AGAIN_LATER, ZONE_BUSY: not now"),
    ]
}

extension JSONSchema {
    fileprivate var isChoice: Bool { json["anyOf"] != nil }
}

extension JSONObject {
    fileprivate func adding(_ name: Name, _ value: JSONValue) -> JSONObject {
        var object = self
        object[name] = value
        return object
    }
}

extension ServiceDescription.Answer {
    /// The content of the answer with status 200; `nil` if there is none.
    fileprivate var json: JSONObject? {
        switch self {
        case .none: nil
        case .json(let schema): Self.response("An answer", "application/json", schema.value)
        case .lines(let schema): Self.response("Lines of JSON. The schema is that of one line", "application/x-ndjson", nil, more: ("x-skylight-line", schema.value))
        case .events(let events): Self.response("Server-sent events, until the client hangs up: \(events)", "text/event-stream", JSONSchema.string.value)
        case .text(let what): Self.response(what, "text/plain", JSONSchema.string.value)
        case .file: Self.response("The bytes of the file", "*/*", nil)
        }
    }

    private static func response(_ description: String, _ type: Name, _ schema: JSONValue?, more: (Name, JSONValue)? = nil) -> JSONObject {
        var content = JSONObject()
        if let schema { content["schema"] = schema }
        if let more { content[more.0] = more.1 }
        var response = JSONObject()
        response["description"] = .string(description)
        response["content"] = .object(OpenAPIDocument.members([(type, .object(content))]))
        return response
    }
}
