//! The look of all e-mails, and the same content as text: both are templates made from the same blocks.
//!
//! Mail programs know little of today's HTML: the page is made of tables with styles on each element, and
//! the one style sheet only adapts it to narrow and to dark screens. Nothing is loaded but the logo.

use super::catalogue::BUTTON_HINT;
use crate::model::{Block, Channel, System};

const FONT: &str =
    "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const MONO: &str = "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace";

const STYLE: &str = "\
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (max-width: 600px) {
  .outer { padding: 16px 12px 32px !important; }
  .card { padding: 28px 22px 24px !important; }
  .code { font-size: 32px !important; letter-spacing: 6px !important; padding-left: 6px !important; }
}
@media (prefers-color-scheme: dark) {
  .page, .outer { background: #101216 !important; }
  .card { background: #1a1d23 !important; border-color: #2c313a !important; }
  .strong { color: #f2f4f7 !important; }
  .text { color: #d3d8e0 !important; }
  .muted, .muted a { color: #98a2b3 !important; }
  .box { background: #242932 !important; border-color: #343b46 !important; }
  .line { border-color: #2c313a !important; }
  .button { background: #f2f4f7 !important; }
  .button a { color: #14171c !important; }
}
";

/// The body of a system template.
pub fn body(system: &System) -> String {
    match system.channel {
        Channel::Email => html(system),
        Channel::Sms => system.title.to_owned(),
    }
}

/// The page of an e-mail.
fn html(system: &System) -> String {
    let blocks: String = system.blocks.iter().map(block_html).collect();
    let (subject, title, preheader) = (system.subject, system.title, preheader(system));
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no">
<title>{subject}</title>
<style>
{STYLE}</style>
</head>
<body class="page" style="margin:0;padding:0;background:#f3f4f6;-webkit-text-size-adjust:100%">
<div style="display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;font-size:1px;line-height:1px;color:#f3f4f6">{preheader}</div>
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:#f3f4f6">
<tr><td class="outer" align="center" style="padding:40px 16px 48px;background:#f3f4f6">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:520px">
<tr><td align="center" class="strong" style="padding:0 0 20px;{FONT};font-size:18px;line-height:24px;font-weight:600;color:#14171c">{{{{#if app.logo_image_url}}}}<img src="{{{{app.logo_image_url}}}}" alt="{{{{app.name}}}}" height="40" style="display:block;height:40px;max-width:240px;border:0">{{{{else}}}}{{{{app.name}}}}{{{{/if}}}}</td></tr>
<tr><td class="card" style="padding:40px 40px 32px;background:#ffffff;border:1px solid #e4e7ec;border-radius:14px">
<h1 class="strong" style="margin:0 0 16px;{FONT};font-size:24px;line-height:32px;font-weight:650;color:#14171c">{title}</h1>
{blocks}</td></tr>
<tr><td align="center" class="muted" style="padding:20px 24px 0;{FONT};font-size:12px;line-height:18px;color:#667085">{{{{#if app.url}}}}<a href="{{{{app.url}}}}" style="color:#667085;text-decoration:underline">{{{{app.name}}}}</a>{{{{else}}}}{{{{app.name}}}}{{{{/if}}}} sent you this e-mail because of your account or of something you asked for.</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
"#
    )
}

/// What mail programs show beside the subject: the first sentence.
fn preheader(system: &System) -> &'static str {
    system
        .blocks
        .iter()
        .find_map(|block| if let Block::Text(text) = block { Some(*text) } else { None })
        .unwrap_or_default()
}

fn block_html(block: &Block) -> String {
    let paragraph = |text: &str| {
        format!(
            "<p class=\"text\" style=\"margin:0 0 20px;{FONT};font-size:16px;line-height:25px;color:#344054\">{text}</p>\n"
        )
    };
    match block {
        Block::Greeting => paragraph("{{#if greeting_name}}Hello {{greeting_name}},{{else}}Hello,{{/if}}"),
        Block::Text(text) => paragraph(text),
        Block::Code => format!(
            "<table role=\"presentation\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\" style=\"margin:0 0 22px\">\
             <tr><td class=\"box strong code\" align=\"center\" style=\"padding:20px 8px 20px 10px;{MONO};font-size:38px;line-height:44px;\
             font-weight:700;letter-spacing:10px;color:#14171c;background:#f3f4f6;border:1px solid #e4e7ec;border-radius:10px\">\
             {{{{otp_code}}}}</td></tr></table>\n"
        ),
        Block::Button(label, url) => button(label, url),
        Block::Facts(facts) => {
            let rows: String = facts.iter().map(|(label, path)| fact_html(label, path)).collect();
            format!(
                "<table role=\"presentation\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\" style=\"margin:0 0 20px\">{rows}</table>\n"
            )
        }
        Block::Note(text) => format!(
            "<p class=\"muted line\" style=\"margin:24px 0 0;padding:18px 0 0;border-top:1px solid #e4e7ec;{FONT};font-size:13px;line-height:20px;color:#667085\">{text}</p>\n"
        ),
    }
}

/// A button made of a table cell: the only kind every mail program draws.
fn button(label: &str, url: &str) -> String {
    format!(
        "<table role=\"presentation\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\" style=\"margin:4px 0 20px\">\
         <tr><td class=\"button\" align=\"center\" bgcolor=\"#14171c\" style=\"background:#14171c;border-radius:10px\">\
         <a href=\"{{{{{url}}}}}\" style=\"display:inline-block;padding:14px 28px;{FONT};font-size:16px;line-height:22px;font-weight:600;color:#ffffff;text-decoration:none\">{label}</a>\
         </td></tr></table>\n\
         <p class=\"muted\" style=\"margin:0 0 20px;{FONT};font-size:13px;line-height:20px;color:#667085\">{BUTTON_HINT}<br>\
         <a href=\"{{{{{url}}}}}\" style=\"color:#667085;word-break:break-all\">{{{{{url}}}}}</a></p>\n"
    )
}

fn fact_html(label: &str, path: &str) -> String {
    let cell = format!("{FONT};font-size:14px;line-height:20px;vertical-align:top");
    format!(
        "{{{{#if {path}}}}}<tr><td class=\"muted\" width=\"120\" style=\"padding:3px 12px 3px 0;{cell};color:#667085\">{label}</td>\
         <td class=\"text\" style=\"padding:3px 0;{cell};color:#344054;word-break:break-word\">{{{{{path}}}}}</td></tr>{{{{/if}}}}"
    )
}

/// The text of an e-mail.
pub fn text(system: &System) -> String {
    let blocks: String = system.blocks.iter().map(block_text).collect();
    format!(
        "{}\n\n{blocks}-- \n{{{{app.name}}}}{{{{#if app.url}}}}\n{{{{app.url}}}}{{{{/if}}}}\n",
        system.title
    )
}

fn block_text(block: &Block) -> String {
    match block {
        Block::Greeting => {
            "{{#if greeting_name}}Hello {{greeting_name}},{{else}}Hello,{{/if}}\n\n".to_owned()
        }
        Block::Text(text) | Block::Note(text) => format!("{text}\n\n"),
        Block::Code => "    {{otp_code}}\n\n".to_owned(),
        Block::Button(label, url) => format!("{label}:\n{{{{{url}}}}}\n\n"),
        Block::Facts(facts) => {
            let row = |(label, path): &(&str, &str)| {
                format!("{{{{#if {path}}}}}{label}: {{{{{path}}}}}\n{{{{/if}}}}")
            };
            format!("{}\n", facts.iter().map(row).collect::<String>())
        }
    }
}
