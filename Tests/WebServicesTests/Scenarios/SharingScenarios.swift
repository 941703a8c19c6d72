import Records

// Shares of records and zones.

extension Scenario {
    static let sharing: [Scenario] = [
        Scenario(
            "a list is shared with two users, in the requests that CloudKit JS sends",
            get("public/users/caller", as: "anna"),
            post("public/users/caller", "", 200, "{}", keeping: ["anna": "userRecordName"], as: "anna"),
            post("public/users/caller", "", 200, "{}", keeping: ["bea": "userRecordName"], as: "bea"),
            post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#),
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"List","recordName":"list","fields":{"title":"Food"},"createShortGUID":true}}]}"#,
                200, #"{"records":[{"recordName":"list","shortGUID":"<any>","share":"<absent>"}]}"#,
                keeping: ["link": "records[0].shortGUID"]),
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"Thing","recordName":"milk","parent":{"recordName":"list"}}},{"operationType":"create","record":{"recordType":"Thing","recordName":"diary"}}]}"#
            ),
            // The list has another tag since its first child was saved.
            post(
                "private/records/lookup", #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"list"}]}"#, 200,
                "{}",
                keeping: ["tag": "records[0].recordChangeTag"]),
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"cloudkit.share","recordName":"share","fields":{"cloudkit.title":{"value":"Food"}},"forRecord":{"recordName":"list","recordChangeTag":"$tag"},"publicPermission":"NONE","participants":[{"type":"USER","permission":"READ_WRITE","acceptanceStatus":"INVITED","userIdentity":{"lookupInfo":{"userRecordName":"$anna"}}},{"type":"USER","permission":"READ_ONLY","acceptanceStatus":"INVITED","userIdentity":{"lookupInfo":{"userRecordName":"$bea"}}}]}}]}"#,
                200,
                #"{"records":[{"recordType":"cloudkit.share","shortGUID":"$link","publicPermission":"NONE","owner":{"type":"OWNER","acceptanceStatus":"ACCEPTED","permission":"READ_WRITE"},"currentUserParticipant":{"type":"OWNER"},"participants":[{"type":"OWNER"},{"participantId":"<any>","type":"USER","acceptanceStatus":"INVITED","permission":"READ_WRITE"},{"acceptanceStatus":"INVITED","permission":"READ_ONLY"}],"fields":{"cloudkit.title":{"value":"Food"}}}]}"#
            ),
            post(
                "private/records/lookup",
                #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"list"},{"recordName":"milk"}]}"#, 200,
                #"{"records":[{"share":{"recordName":"share","zoneID":{"zoneName":"Z"}},"shortGUID":"$link"},{"parent":{"recordName":"list"},"share":"<absent>"}]}"#
            ),
            // Links.
            post(
                "public/records/resolve",
                #"{"shortGUIDs":[{"value":"$link","shouldFetchRootRecord":true},{"value":"none"}]}"#, 200,
                #"{"results":[{"shortGUID":{"value":"$link","shouldFetchRootRecord":true},"containerIdentifier":"iCloud.com.example.Test","databaseScope":"SHARED","zoneID":{"zoneName":"Z","ownerRecordName":"$developer"},"share":{"recordName":"share","currentUserParticipant":"<absent>"},"rootRecordName":"list","rootRecord":{"fields":{"title":{"value":"Food"}}},"ownerIdentity":{"userRecordName":"$developer"},"participantType":"USER","participantStatus":"INVITED","participantPermission":"READ_WRITE"},{"shortGUID":{"value":"none"},"serverErrorCode":"NOT_FOUND"}]}"#,
                as: "anna"),
            post(
                "public/records/resolve", #"{"shortGUIDs":["$link"]}"#, 200,
                #"{"results":[{"serverErrorCode":"ACCESS_DENIED"}]}"#, as: "carl"),
            post(
                "public/records/accept", #"{"shortGUIDs":["$link"]}"#, 200,
                #"{"results":[{"serverErrorCode":"ACCESS_DENIED","share":"<absent>"}]}"#, as: "carl"),
            post(
                "public/records/accept", #"{"shortGUIDs":["$link"]}"#, 200,
                #"{"results":[{"serverErrorCode":"BAD_REQUEST"}]}"#),
            post(
                "public/records/resolve", #"{"shortGUIDs":["$link"]}"#, 200,
                #"{"results":[{"databaseScope":"PRIVATE","participantType":"OWNER"}]}"#),
            post("public/records/accept", "{}", 400, #"{"reason":"<has shortGUIDs>"}"#),
            post(
                "public/records/accept", #"{"shortGUIDs":[{"value":"$link"}]}"#, 200,
                #"{"results":[{"participantStatus":"ACCEPTED","share":{"currentUserParticipant":{"permission":"READ_WRITE","userIdentity":{"userRecordName":"$anna"}}}}]}"#,
                as: "anna"),
            post(
                "public/records/accept", #"{"shortGUIDs":["$link"]}"#, 200,
                #"{"results":[{"participantStatus":"ACCEPTED"}]}"#, as: "anna"),
            post(
                "public/records/accept", #"{"shortGUIDs":["$link"]}"#, 200,
                #"{"results":[{"participantPermission":"READ_ONLY"}]}"#, as: "bea"),
            // CloudKit JS looks for no errors among the items of these two.
            post(
                "shared/assets/upload",
                #"{"zoneID":{"zoneName":"Z","ownerRecordName":"$developer"},"tokens":[{"recordType":"Thing","recordName":"milk","fieldName":"photo"},{"recordType":"Thing","fieldName":"photo"}]}"#,
                403,
                #"{"serverErrorCode":"ACCESS_DENIED","reason":"WRITE operation not permitted","tokens":"<absent>"}"#,
                as: "bea"),
            post(
                "shared/assets/rereference",
                #"{"zoneID":{"zoneName":"Z","ownerRecordName":"$developer"},"assets":[{"recordName":"milk","fieldName":"photo"}]}"#,
                403,
                #"{"serverErrorCode":"ACCESS_DENIED","reason":"WRITE operation not permitted","assets":"<absent>"}"#,
                as: "bea"),
            post(
                "shared/assets/upload",
                #"{"zoneID":{"zoneName":"Z","ownerRecordName":"$developer"},"tokens":[{"recordType":"Thing","recordName":"milk","fieldName":"photo"}]}"#,
                200, #"{"tokens":[{"recordName":"milk","url":"<any>"}]}"#, as: "anna"),
            post(
                "shared/assets/upload", #"{"zoneID":{"zoneName":"Z","ownerRecordName":"$developer"},"tokens":[]}"#,
                200, #"{"tokens":[]}"#, as: "bea")),
        Scenario(
            "a link tells strangers nothing of the participants, entries without a right admit nobody, and types that a share needs stay",
            get("public/users/caller", as: "bea"),
            post("public/users/caller", "", 200, "{}", keeping: ["anna": "userRecordName"], as: "anna"),
            post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#),
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"List","recordName":"list"}}]}"#
            ),
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"cloudkit.share","recordName":"share","forRecord":{"recordName":"list"},"publicPermission":"READ_ONLY","participants":[{"type":"USER","permission":"NONE","userIdentity":{"lookupInfo":{"userRecordName":"$anna"}}},{"type":"USER","permission":"READ_WRITE","userIdentity":{"lookupInfo":{"emailAddress":"bob@example.org"}}}]}}]}"#,
                200, #"{"records":[{"participants":[{},{},{}]}]}"#, keeping: ["link": "records[0].shortGUID"]),
            post(
                "public/records/resolve", #"{"shortGUIDs":["$link"]}"#, 200,
                #"{"results":[{"share":{"participants":[{"type":"OWNER"}],"owner":{"type":"OWNER"},"currentUserParticipant":"<absent>"},"ownerIdentity":{"userRecordName":"$developer"},"participantType":"PUBLIC_USER","participantPermission":"READ_ONLY","rootRecord":"<absent>"}]}"#,
                as: "bea"),
            post(
                "public/records/resolve", #"{"shortGUIDs":["$link"]}"#, 200,
                #"{"results":[{"share":{"participants":[{},{},{}]},"participantType":"USER","participantPermission":"READ_ONLY"}]}"#,
                as: "anna"),
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"forceUpdate","record":{"recordType":"cloudkit.share","recordName":"share","publicPermission":"NONE"}}]}"#,
                200, "{}",
                keeping: ["tag": "records[0].recordChangeTag"]),
            post(
                "public/records/resolve", #"{"shortGUIDs":["$link"]}"#, 200,
                #"{"results":[{"serverErrorCode":"ACCESS_DENIED","share":"<absent>"}]}"#, as: "anna"),
            post(
                "public/records/accept", #"{"shortGUIDs":["$link"]}"#, 200,
                #"{"results":[{"serverErrorCode":"ACCESS_DENIED"}]}"#, as: "anna"),
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"update","record":{"recordType":"cloudkit.share","recordName":"share","recordChangeTag":"$tag","participants":[{"userIdentity":{"lookupInfo":{"emailAddress":"\#(String(repeating: "x", count: 256))"}}}]}}]}"#,
                200,
                #"{"records":[{"serverErrorCode":"BAD_REQUEST","reason":"<has 'emailAddress' of a participant>"}]}"#),
            post(
                "/skylight/1/\(ScenarioRunner.container)/development/private/schema/edit",
                #"{"edits":[{"removeType":"List"}]}"#, 400,
                #"{"serverErrorCode":"BAD_REQUEST","reason":"<has the share 'share' needs the record 'list'>"}"#),
            post(
                "/skylight/1/\(ScenarioRunner.container)/development/private/schema/edit",
                #"{"edits":[{"removeField":"cloudkit.title","recordType":"cloudkit.share"}]}"#, 400,
                #"{"reason":"<has belongs to CloudKit>"}"#)),
    ]
}
