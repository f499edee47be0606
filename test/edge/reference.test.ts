/** The page that people read says what the document says. */
import { expect, test } from "vitest";
import { renderReference } from "../../edge/pages/reference.ts";
import { allRoutes } from "../../shared/contract/all-routes.ts";
import { openApiDocument } from "../../shared/contract/openapi.ts";

test("every route stands on the page with its permission", () => {
  const page = renderReference(openApiDocument("1.2.3"));
  for (const route of allRoutes) {
    const heading = `<code>${route.method.toUpperCase()} ${route.path}</code>`;
    expect(page).toContain(heading);
    if (route.policy.permission !== "public") {
      const section = page.slice(page.indexOf(heading)).split("</article>", 1)[0];
      const { permission } = route.policy;
      expect(section).toContain(
        permission === "session"
          ? "Needs a person who is signed in"
          : `Needs the permission <code>${permission}</code>`,
      );
    }
  }
  expect(page).toContain("1.2.3");
});

test("fields of bodies are listed with their types and bounds", () => {
  const page = renderReference(openApiDocument("1"));
  const section = page.slice(page.indexOf("<code>POST /api/projects</code>")).split("</article>", 1)[0];
  expect(section).toMatch(/<code>source\.owner<\/code>/);
  expect(section).toMatch(/<code>rollbackWindow<\/code> <i>optional<\/i>[\s\S]*?0–50/);
});

test("text of a schema is escaped", () => {
  const document = openApiDocument("<b>1</b>");
  expect(renderReference(document)).not.toContain("<b>1</b>");
});
