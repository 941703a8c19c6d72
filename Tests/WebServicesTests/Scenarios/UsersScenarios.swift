// The services for the client's user and for other users.

extension Scenario {
    static let users: [Scenario] = [
        Scenario(
            "users find one another by the names of their records",
            get("public/users/caller", 200, #"{"userRecordName":"$anna"}"#, as: "anna"),
            post(
                "public/users/discover",
                #"{"lookupInfos":[{"userRecordName":"$anna"},{"userRecordName":"_nobody"},{"emailAddress":"x@example.com"},{"phoneNumber":"+491"}]}"#,
                200,
                """
                {"users":[{"userRecordName":"$anna","nameComponents":{"givenName":"Anna"},"lookupInfo":{"userRecordName":"$anna"}},
                {"lookupInfo":{"userRecordName":"_nobody"},"serverErrorCode":"NOT_FOUND","reason":"User not found","userRecordName":"<absent>"},
                {"lookupInfo":{"emailAddress":"x@example.com"},"serverErrorCode":"NOT_FOUND"},
                {"lookupInfo":{"phoneNumber":"+491"},"serverErrorCode":"NOT_FOUND"}]}
                """),
            get(
                "public/users/discover", 200,
                #"{"users":[{"userRecordName":"$developer","lookupInfo":"<any>"},{"userRecordName":"$anna"}]}"#),
            post(
                "public/users/lookup/id", #"{"users":[{"userRecordName":"_nobody"},{"userRecordName":"$anna"}]}"#, 200,
                #"{"users":[{"userRecordName":"_nobody","serverErrorCode":"NOT_FOUND","reason":"User not found"},{"userRecordName":"$anna","firstName":"Anna","nameComponents":"<absent>"}]}"#
            ),
            get(
                "public/users/lookup/contacts", 200,
                #"{"users":[{"userRecordName":"$developer"},{"userRecordName":"$anna"}]}"#),
            post(
                "public/users/lookup/contacts", "{}", 200,
                #"{"users":[{"userRecordName":"$developer"},{"userRecordName":"$anna"}]}"#)),
        Scenario(
            "what such a request lacks is said",
            post(
                "public/users/discover", "{}", 400,
                #"{"serverErrorCode":"BAD_REQUEST","reason":"<has Expected 'lookupInfos' to be an array, found nothing>"}"#
            ),
            post(
                "public/users/discover", #"{"lookupInfos":[{}]}"#, 400,
                #"{"reason":"<has Expected 'lookupInfos[0]' to have emailAddress or phoneNumber or userRecordName>"}"#),
            post(
                "public/users/discover", #"{"lookupInfos":[{"emailAddress":1}]}"#, 400,
                #"{"reason":"<has 'lookupInfos[0].emailAddress' to be a string, found a number>"}"#),
            post(
                "public/users/lookup/email", #"{"users":[{"userRecordName":"_x"}]}"#, 400,
                #"{"reason":"<has to have emailAddress>"}"#),
            post(
                "public/users/lookup/id",
                #"{"users":[\#(Array(repeating: #"{"userRecordName":"_x"}"#, count: 201).joined(separator: ","))]}"#,
                400, #"{"reason":"<has 201>"}"#),
            get("public/users/lookup/email", 405, #"{"serverErrorCode":"BAD_REQUEST"}"#),
            post("public/users/lookup", "{}", 404, #"{"serverErrorCode":"NOT_FOUND"}"#)),
    ]
}
