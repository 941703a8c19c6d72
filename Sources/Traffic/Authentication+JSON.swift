internal import JSON

extension JSONWriter {
    mutating func value(_ authentication: Authentication) {
        object { writer in
            writer.member("way", authentication.way.rawValue)
            writer.optional("credential", authentication.credential)
            writer.optional("session", authentication.session)
            if let problem = authentication.problem {
                writer.name("problem")
                writer.value(problem)
            }
        }
    }

    private mutating func value(_ problem: Authentication.Problem) {
        object { writer in
            writer.member("problem", problem.kind)
            writer.member("sentence", problem.sentence)
            writer.optional("remedy", problem.remedy)
            writer.optional("expected", problem.expected)
            writer.optional("received", problem.received)
            writer.member("certain", problem.isCertain)
            writer.array("parts", problem.parts) { writer, part in
                writer.object { writer in
                    writer.member("part", part.name)
                    writer.member("expected", part.expected)
                    writer.optional("received", part.received)
                    writer.member("state", part.state.rawValue)
                }
            }
        }
    }
}
