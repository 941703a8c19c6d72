import RecordStore
import Records
import TestSupport
import Testing

@testable import Console

/// The components that pages are made of, in all their states.
@Suite struct ComponentTests {
    /// The HTML of a page's main part.
    private func html(_ head: PageHead = PageHead("T"), _ parts: any Component..., foot: PageFooter? = nil) throws
        -> String
    {
        let files = StaticFiles(folder: nil)
        let renderer = try PageRenderer(folder: nil, staticFiles: files, faults: FaultInjection())
        let page = try renderer.html(
            ComponentPage(.keys, head, parts, foot: foot), in: Frame(title: "T", staticFiles: files))
        let main = try #require(page.firstMatch(of: /<main[^>]*>\n(?s:(.*))<\/main>/)).output.1
        return String(main.replacing("\n", with: ""))
    }

    /// The HTML of inline content.
    private func html(_ inline: Inline) throws -> String {
        let page = try html(PageHead("T"), Paragraph(inline))
        return String(try #require(page.firstMatch(of: /<\/h1><\/div><\/div>(.*)/)).output.1)
    }

    private let time = Timestamp(milliseconds: 0)

    // MARK: Inline

    @Test func backticksOfALiteralEncloseCode() throws {
        #expect(try html("Send `a <b>` or `c`.") == "<p>Send <code>a &lt;b&gt;</code> or <code>c</code>.</p>")
        let text = "`of` a user\u{202E}"
        #expect(try html("Hello \(text)") == "<p>Hello `of` a user<i data-u=\"202E\">\u{202E}</i></p>")
        #expect(try html("") == "<p></p>")
    }

    @Test func valuesLinksAndBadgesStandInText() throws {
        #expect(try html("\(strong: "a&b") \(.faint("x"))") == "<p><b>a&amp;b</b> <span class=\"faint\">x</span></p>")
        #expect(
            try html(.copyable("id")) == "<p><span class=\"copyable\"><code data-copy-source>id</code></span></p>")
        #expect(
            try html(.badge("no index", "lacks", hint: "\"why\""))
                == "<p><span class=\"pill lacks\" title=\"&quot;why&quot;\">no index</span></p>")
        #expect(try html(.link("a", "/b?c&d")) == "<p><a href=\"/b?c&amp;d\">a</a></p>")
        #expect(
            try html(.buttons([.delete("/d", label: "Delete a")]))
                == "<p><a class=\"button danger\" href=\"/d\" aria-label=\"Delete a\">Delete…</a> </p>")
        #expect(
            try html(.buttons([.button("A", "/a"), Frame.Link(text: "B", href: "/b", isDownload: true)]))
                == "<p><span class=\"row\"><a class=\"button\" href=\"/a\">A</a> <a href=\"/b\" download>B</a> </span></p>"
        )
        #expect(try html(.time(time)).contains("<time datetime=\"1970-01-01T00:00:00"))
        #expect(try html(.list(["a", .code("b")])) == "<p>a, <code>b</code></p>")
        #expect(try html(.list([])) == "<p></p>")
        #expect(
            try html(Records.Environment.production.inline) == "<p><span class=\"production\">production</span></p>")
    }

    // MARK: Head

    @Test func aHeadHasWhatThePageIsAbout() throws {
        #expect(try html() == "<div class=\"heading\"><div><h1>T</h1></div></div>")
        let all = try html(
            PageHead(
                "<T>", crumb: .link("Keys", "/keys"), ["First.", "`Second`."],
                forms: [Form(.line, "/make", [], button: "Make")], badge: "acting now",
                actions: [.button("A", "/a"), .go("B", "/b")]))
        for part in [
            "<p class=\"over\"><a href=\"/keys\">Keys</a></p><h1>&lt;T&gt;</h1><p>First.</p><p><code>Second</code>.</p>",
            "<form class=\"row\" action=\"/make\" method=\"post\">",
            "<div class=\"actions\"><span class=\"pill has\">acting now</span> <a class=\"button\" href=\"/a\">A</a> "
                + "<a class=\"button go\" href=\"/b\">B</a> </div>",
        ] {
            #expect(all.contains(part), "\(part)")
        }
    }

    // MARK: Table

    @Test func aRowIsNamedByItsFirstCell() throws {
        let columns: [Table.Column] = ["name", .number("count"), .column("about", "wide"), .actions("revoke")]
        let rows = [
            Table.Row([.link("a", "/a"), "1", "x", .buttons([.button("Revoke…", "/r", label: "Revoke a")])]),
            Table.Row(["b", "2", "", ""], .ended),
        ]
        let table = try html(PageHead("T"), Table("Things", style: .credentials, columns, rows, more: "and 3 more"))
        for part in [
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Things\"><table class=\"credentials\">",
            "<th scope=\"col\">name</th><th scope=\"col\" class=\"num\">count</th><th scope=\"col\">about</th>"
                + "<th scope=\"col\"><span class=\"hidden\">revoke</span></th>",
            "<tr><th scope=\"row\"><a href=\"/a\">a</a></th><td class=\"num\" data-label=\"count\">1</td>"
                + "<td class=\"wide\" data-label=\"about\">x</td><td><a",
            "<tr class=\"revoked\"><th scope=\"row\">b</th>", "</div><p class=\"remark\">and 3 more</p>",
        ] {
            #expect(table.contains(part), "\(part)")
        }
    }

    @Test func rowsStandInGroups() throws {
        let groups = [
            Table.Group("Kind \(.faint("2"))", [Table.Row(["a", "1"])], more: "… and 1 more"),
            Table.Group(nil, [Table.Row(["all", "2"], .sum, head: 1)]),
        ]
        let table = try html(PageHead("T"), Table("Things", ["name", .number("count")], groups: groups))
        #expect(
            table.contains(
                "<tbody><tr class=\"group\"><th scope=\"rowgroup\" colspan=\"2\">Kind <span class=\"faint\">2</span></th></tr>"
                    + "<tr><th scope=\"row\">a</th><td class=\"num\" data-label=\"count\">1</td></tr><tr><td class=\"faint\" colspan=\"2\">… and 1 more</td></tr></tbody>"
                    + "<tbody><tr class=\"sum\"><td data-label=\"name\">all</td><th scope=\"row\" class=\"num\">2</th></tr></tbody>"
            ),
            "\(table)")
    }

    @Test func aTableWithoutRowsSaysTheNextStep() throws {
        let table = Table("Things", ["name"], [], nothing: EmptyState("No things", "Make `one`."), more: "more")
        let page = try html(PageHead("T"), table)
        #expect(
            page.hasSuffix("<section class=\"empty\"><h2>No things</h2><p>Make <code>one</code>.</p></section>"))
        #expect(
            try html(PageHead("T"), EmptyState(sentence: "None yet.")).hasSuffix("<p class=\"remark\">None yet.</p>"))
        #expect(try html(PageHead("T"), Table("Things", ["name"], [])).hasSuffix("</h1></div></div>"))
    }

    // MARK: Form

    @Test func eachInputHasItsLabelAndRules() throws {
        let fields: [FormField] = [
            FormField(
                .text, "name", "Name", id: "token-name", value: "\"a\"", placeholder: "Web app", limit: 9,
                isRequired: true),
            FormField(.code, "key", "Key", hint: "As `hex`.", tip: "digits", pattern: "[0-9]*"),
            FormField(.name, "handle", "Handle"), FormField(.password, "secret", "Secret"),
            FormField(.email, "mail", "E-mail", isLabelled: false),
            FormField(.area(rows: 2), "pem", "PEM", value: "<a>", file: FormField.File(id: "f", accepts: ".pem")),
            FormField(.choice([Choice("1", "one", isSelected: true)]), "kind", "Kind"),
            FormField(.sentChoice([]), "in", "In"),
            FormField(.tick(isOn: true), "on", "On", tip: "why", isRequired: true),
            FormField(.file(accepts: ".tar"), "file", "File", isRequired: true, isLabelled: false),
            FormField(.fixed, "old", "old", value: "v"),
        ]
        let form = try html(
            PageHead("T"),
            Form(
                .grid, "/go", hidden: [Frame.Hidden(name: "from", value: "&")], fields, button: "Go",
                buttonStyle: "go", buttonLabel: "Go there", note: "up to 1 MB"))
        for part in [
            "<form class=\"labelled\" action=\"/go\" method=\"post\" enctype=\"multipart/form-data\">",
            "<input type=\"hidden\" name=\"from\" value=\"&amp;\">",
            "<label for=\"token-name\">Name</label> <input type=\"text\" id=\"token-name\" name=\"name\" "
                + "value=\"&quot;a&quot;\" placeholder=\"Web app\" required maxlength=\"9\" autocomplete=\"off\">",
            "<label for=\"key\">Key</label> <div><input type=\"text\" id=\"key\" name=\"key\" value=\"\" class=\"mono\" "
                + "autocapitalize=\"none\" spellcheck=\"false\" pattern=\"[0-9]*\" title=\"digits\" "
                + "aria-describedby=\"key-hint\" autocomplete=\"off\">",
            "<p class=\"faint\" id=\"key-hint\">As <code>hex</code>.</p></div>",
            "name=\"handle\" value=\"\" autocapitalize=\"none\"", "<input type=\"password\"",
            "<input type=\"email\" id=\"mail\" name=\"mail\" value=\"\" aria-label=\"E-mail\"",
            "data-drop-text autocomplete=\"off\">&lt;a&gt;</textarea>",
            "<label for=\"f\" class=\"faint\">or choose or drop its file</label> "
                + "<input type=\"file\" id=\"f\" name=\"file\" accept=\".pem\"></p></div>",
            "<select id=\"kind\" name=\"kind\"><option value=\"1\" selected>one</option></select>",
            "<select id=\"in\" name=\"in\" data-submit>",
            "<label class=\"tick\" title=\"why\"><input type=\"checkbox\" name=\"on\" value=\"1\" checked required>",
            "<input type=\"file\" id=\"file\" name=\"file\" accept=\".tar\" required aria-label=\"File\">",
            "<span>old</span> <b class=\"mono\">v</b><input type=\"hidden\" name=\"old\" value=\"v\">",
            "<button class=\"go\" aria-label=\"Go there\">Go</button><span class=\"faint\">up to 1 MB</span></form>",
        ] {
            #expect(form.contains(part), "\(part)\n\(form)")
        }
        #expect(!form.contains("<label for=\"mail\"") && !form.contains("<label for=\"on\""))
    }

    /// Such a form changes nothing.
    @Test func aSearchIsSentByGet() throws {
        let address = DatabaseAddress(
            container: try #require(ContainerID("iCloud.a")), environment: .development, scope: .private)
        let place = Place(address: address, user: "grace", zone: .unspecified)
        let search = Form.search(Frame.Find(on: .users, at: place, label: "Find a user", for: nil), found: "a")
        let page = try html(PageHead("T", forms: [search]))
        for part in [
            "<form class=\"row\" action=\"/c/iCloud.a/development/private/users\" method=\"get\" role=\"search\">",
            "<input type=\"hidden\" name=\"user\" value=\"grace\">",
            "<input type=\"search\" id=\"find\" name=\"find\" value=\"a\"", "placeholder=\"Find a user\"",
        ] {
            #expect(page.contains(part), "\(part)\n\(page)")
        }
        let choice = Form.choosing("users", at: place, [], button: "Show")
        #expect(try html(PageHead("T", forms: [choice])).contains("/users\" method=\"get\"><input type=\"hidden\""))
    }

    @Test func aFormIsAroundATable() throws {
        let off = Form.Button("Off", act: "slow", name: "start", label: "Slow", isOn: false)
        let rows = [Table.Row([.code("slow"), .part(off)], words: "slow <x>")]
        let page = try html(
            PageHead(
                "T", live: "2 things", saves: "Save does it.", narrowing: "Filter things",
                button: Form.Button("Save", act: nil, style: "go", form: "grid")),
            Form(
                .around, "/start", id: "grid", hidden: [Frame.Hidden(name: "was", value: "a")],
                [FormField(.number(1...9), "count", "Next", value: "1", unit: "requests")], buttons: [], stays: true,
                around: [Table("Things", style: .indexes, ["name", .boxes("on")], rows, noMatch: "Nothing matches.")]))
        for part in [
            "<p id=\"counts\" data-live=\"The page is complete.\">2 things</p><p role=\"status\" data-saves>Save does it.</p>",
            "<input type=\"search\" data-narrow aria-label=\"Filter things\"",
            "<button form=\"grid\" class=\"go\">Save</button></div>",
            "<form id=\"grid\" class=\"around\" action=\"/start\" method=\"post\" data-stay autocomplete=\"off\">",
            // Enter in an input presses no button of the table.
            "<div class=\"row\"><button hidden disabled></button><div class=\"row\"><label for=\"count\">Next</label> <input type=\"number\" id=\"count\"",
            "class=\"times\" min=\"1\" max=\"9\" inputmode=\"numeric\" autocomplete=\"off\"> <span class=\"word\">requests</span></div></div>",
            "<tr data-words=\"slow &lt;x&gt;\"><th scope=\"row\"><code>slow</code></th><td class=\"index\" data-label=\"on\">"
                + "<button name=\"start\" value=\"slow\" role=\"switch\" aria-checked=\"false\" aria-label=\"Slow\">Off</button></td></tr>",
            "<p class=\"remark\" data-nothing hidden>Nothing matches.</p></form>",
        ] {
            #expect(page.contains(part), "\(part)\n\(page)")
        }
    }

    @Test func severalInputsHaveOneName() throws {
        let invited = FormField(.tick(isOn: false), "invite", "Ada", value: "ada")
        let form = Form(
            .grid, "/go", [FormField(.group([Columns(style: "places", [invited])]), "all", "invite")], button: "Go")
        #expect(
            try html(PageHead("T"), form).contains(
                "<span>invite</span> <div class=\"inputs\"><div class=\"places\"><label class=\"tick\"><input type=\"checkbox\" name=\"invite\" value=\"ada\"> <span>Ada</span></label></div></div>"
            ))
    }

    // MARK: Parts

    @Test func whatScriptsRenewHasAnID() throws {
        let button = Form.Button("Listen", act: nil, listens: true)
        let page = try html(
            PageHead("T", button: button), Live("work", until: "Done.", reloads: true, [Paragraph("a")]),
            Live("rest", until: nil, []), Section("sent", "Sent", isLive: true, []),
            foot: PageFooter(count: "2 things", isLive: true))
        for part in [
            "<button type=\"button\" data-listen hidden>Listen</button>",
            "<div id=\"work\" data-live=\"Done.\" data-reload><p>a</p></div><div id=\"rest\"></div>",
            "<section id=\"sent-part\" data-live=\"The page is complete.\" aria-labelledby=\"sent\"><h2 id=\"sent\">Sent</h2></section>",
        ] {
            #expect(page.contains(part), "\(part)\n\(page)")
        }
    }

    @Test func whatDestroysIsConfirmedBesideItsTitle() throws {
        let form = Form(.line, "/delete", [], button: "Delete 2", buttonStyle: "go danger")
        let page = try html(
            PageHead("T"), Confirmation("dry", "2 would go", isWarning: true, form, notes: ["No <undo>."]),
            Confirmation("none", "Nothing", notes: []))
        for part in [
            "<section class=\"confirm warned\" aria-labelledby=\"dry\"><header><h2 id=\"dry\">2 would go</h2><form class=\"row\" action=\"/delete\" method=\"post\">",
            "<button class=\"go danger\">Delete 2</button></form></header><p class=\"faint\">No &lt;undo&gt;.</p></section>",
            "<section class=\"confirm\" aria-labelledby=\"none\"><header><h2 id=\"none\">Nothing</h2></header></section>",
        ] {
            #expect(page.contains(part), "\(part)\n\(page)")
        }
    }

    @Test func partsStandInSections() throws {
        let refused = PageError(RecordError(.badRequest, "Not a <key>"))
        let page = try html(
            PageHead("T"),
            Section(
                "keys", "Keys \(.faint("2"))", style: "client",
                [
                    Paragraph.faint("About."), Fold("New key", isOpen: false, [CodeBlock("Command", "a\n`b`")]),
                    Fold("More", style: "early", isOpen: false, [Figures([JobProgress.Figure("seen", "1")])]),
                    Fold("Again", isOpen: true, refusal: refused, []),
                ]),
            Note(good: "Copy it.", "Now.", [Listing(["a", .code("b")])]),
            Note(
                RefusedForm(RecordError(.badRequest, "Taken"), typed: "x", link: Frame.Link(text: "Open", href: "/x"))),
            Note(stale: "Not sent.", "Look."), Note(remark: "More."),
            Facts(style: "wide", [Facts.Fact("used", "1 \(.part(Gauge("Used", used: 1, of: 2)))")]), Facts([]),
            Paragraph.actions([.go("Done", "/")]))
        for part in [
            "<section class=\"client\" aria-labelledby=\"keys\"><h2 id=\"keys\">Keys <span class=\"faint\">2</span></h2>",
            "<p class=\"faint\">About.</p><details class=\"making\"><summary>New key</summary>",
            "<pre tabindex=\"0\" aria-label=\"Command\"><code data-copy-source>a<code>b</code></code></pre>",
            "<details class=\"making\" open><summary>Again</summary><section class=\"note bad\" role=\"alert\">",
            "<p><strong>Not a &lt;key&gt;</strong> <span class=\"faint\">BAD_REQUEST</span></p></section></details>",
            "<section class=\"note good\" role=\"status\"><p><strong>Copy it.</strong> Now.</p><ul class=\"plainlist\"><li>a</li>",
            "<details class=\"early\"><summary>More</summary><dl class=\"figures\"><div><dt>seen</dt><dd>1</dd></div></dl></details>",
            "<section class=\"note\" role=\"alert\"><p><strong>Not sent.</strong> Look.</p></section><section class=\"note\" role=\"status\"><p><strong>More.</strong></p></section>",
            "<strong>Taken</strong> <span class=\"faint\">BAD_REQUEST</span></p><p class=\"actions\"><a class=\"button\" href=\"/x\">Open</a> </p>",
            "<dl class=\"facts wide\"><div><dt>used</dt><dd>1 <progress max=\"2\" value=\"1\" aria-label=\"Used\"></progress></dd></div></dl>",
            "<dl class=\"facts\"></dl><p class=\"actions\"><a class=\"button go\" href=\"/\">Done</a> </p>",
        ] {
            #expect(page.contains(part), "\(part)\n\(page)")
        }
    }

    @Test func aJobSaysHowFarItIs() throws {
        func page(_ outcome: JobProgress.Outcome) throws -> String {
            try html(
                PageHead("T"),
                JobProgress(
                    "job", outcome, announcement: "Over", reloads: true, phase: "first",
                    bar: JobProgress.Bar("Records", done: 1, of: 4, percent: 25),
                    [JobProgress.Figure("seen", "1", note: "of 4"), JobProgress.Figure("failed", "2", tone: "bad")],
                    [Note(bad: "Stopped", "Again?")]))
        }
        let running = try page(.running())
        for part in [
            "<div id=\"job\" class=\"running\" data-live=\"Over\" data-reload>",
            "<span class=\"state modified\">running</span> <span class=\"faint\">first</span>",
            "<progress max=\"4\" value=\"1\" aria-label=\"Records\"></progress> <span class=\"percent num\">25 %</span>",
            "<dt>seen</dt><dd>1 <small>of 4</small></dd>", "<dt>failed</dt><dd class=\"bad\">2</dd>",
            "<section class=\"note bad\" role=\"alert\"><p><strong>Stopped</strong> Again?</p></section></div>",
        ] {
            #expect(running.contains(part), "\(part)\n\(running)")
        }
        #expect(try page(.good()).contains("class=\"running\"><p class=\"row\"><span class=\"state good\">done</span>"))
    }

    @Test func whatIsRareIsInAMenu() throws {
        let delete = Frame.Link(text: "Delete…", href: "/d", style: "danger")
        let page = try html(
            PageHead("T", more: Menu([nil, delete])), Columns([Paragraph("a"), Paragraph("b")]),
            Form(.line, "/go", [], button: "Go", links: [.button("Cancel", "/c")]),
            Form(
                .grid, "/copy", [],
                buttons: [Form.Button("Look", act: "preview"), Form.Button("Copy", act: "copy", style: "go")]))
        for part in [
            "<div class=\"actions\"><details class=\"pick more\" data-menu><summary aria-label=\"More actions\"><svg",
            "<div class=\"menu\"><a class=\"danger\" href=\"/d\">Delete…</a></div></details></div>",
            "<div class=\"columns\"><p>a</p><p>b</p></div>",
            "<button>Go</button><a class=\"button\" href=\"/c\">Cancel</a></form>",
            "<div class=\"row\"><button name=\"do\" value=\"preview\">Look</button>"
                + "<button name=\"do\" value=\"copy\" class=\"go\">Copy</button></div></form>",
        ] {
            #expect(page.contains(part), "\(part)\n\(page)")
        }
        #expect(Menu([]) == nil)
    }
}
